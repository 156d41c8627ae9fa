#include "capacity/law.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/time.h"
#include "capacity/capacity_estimate.h"
#include "capacity/latency_offset.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/stability.h"
#include "capacity/weight.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

namespace {

/// Below it a reading of utilization is taken as this: an idle server's ratio to the mean is noise.
constexpr double kIdle = 0.02;
/// What is left of the counts of failures and answers after a step.
constexpr double kFailureMemory = 0.7;
constexpr double kAnswersToFail = 20;
/// A step's change of trust in a sensor that lies, and how far it falls.
constexpr double kTrustStep = 0.8;
constexpr double kLeastTrust = 0.5;
/// How fast the multiplicative law brings the mean weight back to where it should be.
constexpr double kRecentre = 0.3;

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool sensor_fails(Reasons reasons) {
  return reasons.has(Reason::kSensorDead) || reasons.has(Reason::kSensorStuck);
}

/// What a machine's set-point multiplies its weight with: only ratios matter.
double offset_of(const LawSettings& settings, double cores) {
  return settings.latency_equal && cores >= 1
             ? equal_wait_utilization(cores, settings.latency_cores, settings.latency_utilization)
             : 1;
}

}  // namespace

/// What a step knows of the zone, this server included.
struct Law::Means {
  double capacity = 0;  ///< 0: nobody knows any.
  double max_capacity = 0;
  double own_capacity = 0;    ///< The estimate, or the prior.
  double class_capacity = 0;  ///< What weights are clamped around; 0: unknown.
  double utilization = 0;     ///< 0: no peer was heard.
  double weight = 0;          ///< Mean; 0 with no peer.
};

Law::Law(const LawSettings& settings, Identity self)
    : settings_(settings),
      self_(std::move(self)),
      delay_(settings.mean_delay),
      weight_(settings.law == LawKind::kStatic ? settings.static_weight : settings.mean_weight) {
  SPILLWAY_ASSERT(check(settings).empty());
  offset_ = offset_of(settings_, self_.cores);
}

void Law::change(const LawSettings& settings) {
  SPILLWAY_ASSERT(check(settings).empty());
  settings_ = settings;
  offset_ = offset_of(settings_, self_.cores);
  weight_ = std::clamp(weight_, settings_.min_weight, settings_.max_weight);
}

void Law::resize(std::string server_class, double cores) {
  self_.server_class = std::move(server_class);
  self_.cores = cores;
  offset_ = offset_of(settings_, cores);
  estimate_ = CapacityEstimate();
}

void Law::resume(double weight, double capacity) {
  weight_ = std::clamp(weight, settings_.min_weight, settings_.max_weight);
  decided_ = true;
  estimate_.resume(capacity);
}

Decision Law::step(base::Instant now, const Reading& measured, const Orders& orders,
                   const ZoneView& view) {
  const Reading reading = sound(measured);
  const ZoneSummary zone = view.summary(now, self_.id, self_.zone, self_.server_class);
  Decision decision;
  decision.peers = zone.live;
  decision.mean_age = zone.mean_age;
  if (zone.live > 0) {
    delay_.on_age(zone.mean_age);
  }
  const ClassBand band{
      .median = zone.class_capacity,
      .reading = zone.class_reading,
      .mean_utilization = zone.sensing > 0 ? zone.utilization_sum / zone.sensing : 0,
      .median_p95_ms = zone.median_p95_ms};
  estimate_.on_reading(settings_, reading, band, decision.reasons);
  note_lies(decision.reasons);
  note_failures(reading, zone, decision.reasons);
  const Means means = means_of(now, zone, reading, decision);
  decision.capacity = estimate_.value();
  decision.mean_capacity = means.capacity;
  decision.mean_utilization = means.utilization;
  decision.target = target_of(now, reading, means, decision);
  decision.weight = shaped(orders, decision);
  remember(now, decision.weight);
  decision.sample = to_publish(now, reading, orders, decision);
  return decision;
}

void Law::note_lies(Reasons reasons) {
  trust_ = reasons.has(Reason::kLying) ? std::max(kLeastTrust, trust_ * kTrustStep)
                                       : std::min(1.0, trust_ / kTrustStep);
}

void Law::note_failures(const Reading& reading, const ZoneSummary& zone, Reasons& reasons) {
  const double window_s = seconds_of(reading.window);
  recent_failures_ = kFailureMemory * recent_failures_ + reading.failures_per_second * window_s;
  recent_answers_ = kFailureMemory * recent_answers_ +
                    (reading.failures_per_second + reading.successes_per_second) * window_s;
  const double share = recent_answers_ > 0 ? recent_failures_ / recent_answers_ : 0;
  const bool worse_than_peers = share > 2 * zone.median_failure_share;
  if (failing_) {
    failing_ = worse_than_peers && share > settings_.failing_share / 2;
  } else if (share > settings_.failing_share && recent_answers_ >= kAnswersToFail) {
    failing_ = worse_than_peers;
    if (!failing_) {
      reasons.add(Reason::kSharedFailure);
    }
  }
}

Law::Means Law::means_of(base::Instant now, const ZoneSummary& zone, const Reading& reading,
                         Decision& decision) {
  Means means;
  if (zone.sensing > 0 && !sensor_fails(decision.reasons)) {
    means.utilization = (zone.utilization_sum + reading.utilization) / (zone.sensing + 1);
  }
  if (zone.live > 0) {
    means.weight = (zone.weight_sum + weight_) / (zone.live + 1);
  }
  means.class_capacity = zone.class_capacity > 0 ? zone.class_capacity : estimate_.anchor();
  means.own_capacity = estimate_.value();
  if (means.own_capacity <= 0 || sensor_fails(decision.reasons)) {
    const double of_zone = zone.estimating > 0 ? zone.capacity_sum / zone.estimating : 0;
    const double prior = means.class_capacity > 0 ? means.class_capacity : of_zone;
    if (prior > 0) {
      means.own_capacity = prior;
      decision.reasons.add(Reason::kPrior);
    }
  }
  if (zone.estimating > 0) {
    means.capacity = (zone.capacity_sum + means.own_capacity) / (zone.estimating + 1);
    means.max_capacity = std::max(zone.max_capacity, means.own_capacity);
    remembered_ = {.mean = means.capacity, .max = means.max_capacity, .at = now};
  } else if (remembered_.mean > 0 && now - remembered_.at <= settings_.remember_mean) {
    means.capacity = remembered_.mean;
    means.max_capacity = std::max(remembered_.max, means.own_capacity);
    decision.mean_age = now - remembered_.at;
  }
  return means;
}

double Law::target_of(base::Instant now, const Reading& reading, const Means& means,
                      Decision& decision) {
  const bool senses = !sensor_fails(decision.reasons);
  const double used = std::max(reading.utilization, kIdle);
  switch (settings_.law) {
    case LawKind::kEqual:
      return settings_.mean_weight;
    case LawKind::kStatic:
      return settings_.static_weight;
    case LawKind::kSetpoint:
      return senses ? weight_ + 100 * gain_of(means, decision) *
                                    (settings_.setpoint - reading.utilization)
                    : weight_;
    case LawKind::kCapacity:
      return capacity_target(now, reading, means, decision);
    case LawKind::kZoneMeanAdditive:
    case LawKind::kZoneMeanMultiplicative:
      break;
  }
  if (means.utilization <= 0) {
    decision.reasons.add(Reason::kNoPeers);
    return weight_;
  }
  const double gain = gain_of(means, decision);
  if (settings_.law == LawKind::kZoneMeanAdditive) {
    return weight_ + 100 * gain * (means.utilization - reading.utilization);
  }
  return weight_ * std::pow(std::max(means.utilization, kIdle) / used, gain) *
         std::pow(settings_.mean_weight / means.weight, kRecentre * gain);
}

double Law::capacity_target(base::Instant now, const Reading& reading, const Means& means,
                            Decision& decision) {
  if (failing_) {
    decision.reasons.add(Reason::kFailing);
    return settings_.min_weight;
  }
  if (!reading.counts_successes && !sensor_fails(decision.reasons)) {
    decision.reasons.add(Reason::kCpuOnly);
    return delayed_multiplicative(now, reading, means, decision.reasons);
  }
  if (means.capacity <= 0 || means.own_capacity <= 0) {
    decision.reasons.add(Reason::kNoPeers);
    return weight_;
  }
  if (decision.peers == 0) {
    decision.reasons.add(Reason::kRememberedMean);
  }
  const double mean = anchored_mean(settings_.mean_weight, settings_.top_weight, means.capacity,
                                    means.max_capacity);
  if (mean < settings_.mean_weight) {
    decision.reasons.add(Reason::kTopAnchor);
  }
  double target = mean * means.own_capacity / means.capacity * offset_ * trust_;
  if (means.class_capacity > 0) {
    decision.prior = mean * means.class_capacity / means.capacity * offset_;
    const double banded = std::clamp(target, decision.prior / settings_.prior_band,
                                     decision.prior * settings_.prior_band);
    if (banded != target) {
      decision.reasons.add(Reason::kPriorClamp);
      target = banded;
    }
  }
  if (reading.serving_for < settings_.ramp) {
    decision.reasons.add(Reason::kRamp);
    const double grown =
        std::max(0.0, seconds_of(reading.serving_for) / seconds_of(settings_.ramp));
    target *= settings_.ramp_from + (1 - settings_.ramp_from) * grown;
  }
  return target;
}

double Law::delayed_multiplicative(base::Instant now, const Reading& reading, const Means& means,
                                   Reasons& reasons) const {
  if (means.utilization <= 0) {
    reasons.add(Reason::kNoPeers);
    return weight_;
  }
  const double then = weight_at(now - settings_.own_delay - reading.window / 2);
  return then *
         std::pow(std::max(means.utilization, kIdle) / std::max(reading.utilization, kIdle),
                  settings_.gain) *
         std::pow(settings_.mean_weight / means.weight, kRecentre * settings_.gain);
}

double Law::gain_of(const Means& means, Decision& decision) const {
  const double delay = delay_periods(settings_.period, settings_.own_delay, delay_.mean_delay());
  const bool additive = settings_.law != LawKind::kZoneMeanMultiplicative;
  const double utilization =
      settings_.law == LawKind::kSetpoint ? settings_.setpoint : means.utilization;
  const double as_set =
      additive ? additive_loop_gain(settings_.gain, utilization, weight_) : settings_.gain;
  decision.gain = {.delay_periods = delay, .gain = as_set, .largest = max_gain(delay)};
  if (decision.gain.safe() || settings_.allow_unsafe_gain) {
    return settings_.gain;
  }
  decision.reasons.add(Reason::kGainLimited);
  decision.gain.gain = kGainReserve * decision.gain.largest;
  return settings_.gain * decision.gain.gain / as_set;
}

double Law::shaped(const Orders& orders, Decision& decision) {
  Reasons& reasons = decision.reasons;
  if (orders.draining) {
    reasons.add(Reason::kDraining);
    return weight_;
  }
  if (orders.pin > 0) {
    reasons.add(Reason::kPinned);
    weight_ = std::clamp(orders.pin, kLeastWeight, kMostWeight);
    decided_ = true;
    return weight_;
  }
  if (orders.freeze) {
    reasons.add(Reason::kFrozen);
    return weight_;
  }
  if (orders.warming) {
    reasons.add(Reason::kWarming);
    weight_ = settings_.min_weight;
    decided_ = false;  // The first share after warming is not limited by a step from it.
    return weight_;
  }
  const bool failing = reasons.has(Reason::kFailing);
  double weight = decision.target;
  if (decided_) {
    weight = approach(weight_, weight, failing ? settings_.failing_step : settings_.max_step);
    if (weight != decision.target) {
      reasons.add(Reason::kStepLimit);
    }
  }
  const double ranged = std::clamp(weight, settings_.min_weight, settings_.max_weight);
  if (ranged != weight) {
    reasons.add(Reason::kRangeClamp);
  }
  weight_ = ranged;
  decided_ = true;
  return weight_;
}

void Law::remember(base::Instant now, double weight) {
  past_[past_count_ % kPast] = {.at = now, .weight = weight};
  ++past_count_;
}

double Law::weight_at(base::Instant when) const {
  const size_t known = std::min(past_count_, kPast);
  for (size_t back = 1; back <= known; ++back) {
    const Past& past = past_[(past_count_ - back) % kPast];
    if (past.at <= when) {
      return past.weight;
    }
  }
  return known > 0 ? past_[(past_count_ - known) % kPast].weight : weight_;
}

Sample Law::to_publish(base::Instant now, const Reading& reading, const Orders& orders,
                       const Decision& decision) {
  return {.id = self_.id,
          .zone = self_.zone,
          .server_class = self_.server_class,
          .capacity = decision.capacity,
          .utilization = reading.utilization,
          .successes_per_second = reading.successes_per_second,
          .requests_per_second = reading.requests_per_second,
          .weight = decision.weight,
          .state = orders.draining                   ? ServerState::kDraining
                   : orders.warming                  ? ServerState::kWarming
                   : orders.freeze || orders.pin > 0 ? ServerState::kFrozen
                                                     : ServerState::kServing,
          .sequence = ++sequence_,
          .taken_at = now,
          .failures_per_second = reading.failures_per_second,
          .throttled_share = reading.throttled_share,
          .pressure = reading.pressure,
          .p95_ms = reading.p95_ms,
          .cores = self_.cores,
          .window = reading.window,
          .serving_for = reading.serving_for,
          .started_at_ms = self_.started_at_ms,
          .sensor_alive = reading.sensor_alive && !decision.reasons.has(Reason::kSensorStuck),
          .counts_successes = reading.counts_successes};
}

}  // namespace spillway::capacity
