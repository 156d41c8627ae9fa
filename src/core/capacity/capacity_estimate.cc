#include "capacity/capacity_estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"

namespace spillway::capacity {

namespace {

/// The mean that a lone server is held against covers about this long.
constexpr double kAnchorSeconds = 600;
/// What a lone server that insists is believed at a time, and the readings until the next step.
constexpr double kTrialStep = 1.25;
constexpr uint32_t kTrialReadings = 5;
/// Readings within the band in a row that end a trial well, and that make a liar honest again.
constexpr uint32_t kProven = 30;
constexpr uint32_t kHonest = 300;
constexpr uint32_t kMostPatience = 960;
/// Share of change in the traffic that a living sensor must show.
constexpr double kMoved = 0.05;

/// Whatever the CPU says.
bool busy(const LawSettings& settings, const Reading& reading, const ClassBand& peers) {
  const bool slow =
      peers.median_p95_ms > 0 && reading.p95_ms > settings.lie_latency_ratio * peers.median_p95_ms;
  return slow || reading.throttled_share > settings.lie_throttled_share ||
         reading.pressure > settings.lie_pressure;
}

bool lies(const LawSettings& settings, const Reading& reading, const ClassBand& peers) {
  return reading.utilization < settings.lie_utilization * peers.mean_utilization &&
         busy(settings, reading, peers);
}

bool cold(const LawSettings& settings, const Reading& reading) {
  return reading.utilization <= 0 || reading.successes_per_second <= 0 ||
         reading.utilization < settings.min_utilization ||
         reading.successes_per_second < settings.min_successes_per_second ||
         reading.window < settings.period / 2 || reading.serving_for < settings.warm_up;
}

double failure_share(const Reading& reading) {
  const double answers = reading.successes_per_second + reading.failures_per_second;
  return answers > 0 ? reading.failures_per_second / answers : 0;
}

}  // namespace

void CapacityEstimate::on_reading(const LawSettings& settings, const Reading& reading,
                                  const ClassBand& peers, Reasons& reasons) {
  if (!reading.sensor_alive) {
    reasons.add(Reason::kSensorDead);
    return;
  }
  if (stuck(settings, reading)) {
    reasons.add(Reason::kSensorStuck);
    return;
  }
  if (!reading.counts_successes) {
    return;
  }
  const bool tried = peers.median <= 0 && on_trial();
  if (lies(settings, reading, peers) || (tried && busy(settings, reading, peers))) {
    reasons.add(Reason::kLying);
    if (tried) {
      end_trial();
    }
    return;
  }
  if (cold(settings, reading)) {
    reasons.add(Reason::kColdReading);
    return;
  }
  const double used = reading.utilization + settings.failure_penalty * failure_share(reading);
  double capacity = std::min(reading.successes_per_second / used, kMostPerSecond);
  if (banded(settings, peers, capacity, reasons)) {
    learn(settings, capacity, reasons);
  }
}

bool CapacityEstimate::banded(const LawSettings& settings, const ClassBand& peers, double& capacity,
                              Reasons& reasons) {
  const bool alone = peers.median <= 0;
  const double reference = alone ? anchor() : peers.median;
  if (reference <= 0) {
    return true;
  }
  const double reading = !alone && peers.reading > 0 ? peers.reading : reference;
  // Who was caught once is held closer.
  const double band = alone && patience_ > kPatience ? kTrialStep : settings.class_band;
  if (capacity > std::max(reference, reading) * band) {
    if (alone) {
      insist(capacity);
    }
    reasons.add(Reason::kAboveClass);
    return false;
  }
  insisted_ = 0;
  accepted_ = std::min(accepted_ + 1, kHonest);
  trusted_ = accepted_ >= kProven ? 0 : trusted_;
  patience_ = accepted_ >= kHonest ? kPatience : patience_;
  const double least = std::min(reference, reading) / settings.class_band;
  if (capacity < least) {
    reasons.add(Reason::kBelowClass);
    capacity = least;
  }
  return true;
}

void CapacityEstimate::insist(double capacity) {
  accepted_ = 0;
  if (++insisted_ < (trusted_ > 0 ? kTrialReadings : patience_)) {
    return;
  }
  insisted_ = 0;
  trusted_ = trusted_ > 0 ? trusted_ : anchor_;
  anchor_ *= kTrialStep;
  value_ = std::max(value_, std::min(capacity, value_ * kTrialStep));
}

bool CapacityEstimate::on_trial() const {
  return trusted_ > 0 || (anchor() > 0 && value_ > kTrialStep * anchor());
}

void CapacityEstimate::end_trial() {
  anchor_ = trusted_ > 0 ? trusted_ : anchor_;
  value_ = anchor_;
  trusted_ = 0;
  insisted_ = 0;
  accepted_ = 0;
  patience_ = std::min(2 * patience_, kMostPatience);
}

bool CapacityEstimate::stuck(const LawSettings& settings, const Reading& reading) {
  // A server that is full, or idle, reads the same number rightly.
  const bool between = reading.utilization > 0.001 && reading.utilization < 0.999;
  if (!between || reading.utilization != last_utilization_) {
    last_utilization_ = reading.utilization;
    first_successes_ = reading.successes_per_second;
    traffic_moved_ = false;
    alike_ = 1;
    return false;
  }
  alike_ = std::min(alike_ + 1, settings.stuck_after);
  traffic_moved_ = traffic_moved_ || std::abs(reading.successes_per_second - first_successes_) >
                                         kMoved * first_successes_;
  return alike_ >= settings.stuck_after && traffic_moved_;
}

void CapacityEstimate::learn(const LawSettings& settings, double capacity, Reasons& reasons) {
  if (value_ <= 0) {
    value_ = capacity;
    anchor_ = capacity;
    anchor_readings_ = 1;
    return;
  }
  const double error = std::log(capacity / value_);
  const int side = error > settings.boost_error ? 1 : error < -settings.boost_error ? -1 : 0;
  same_side_ = side == 0 || same_side_ * side < 0 ? side : std::clamp(same_side_ + side, -2, 2);
  const bool boosted = std::abs(same_side_) >= 2;
  if (boosted) {
    reasons.add(Reason::kBoost);
  }
  value_ *= std::exp((boosted ? settings.boost : settings.smoothing) * error);
  const double period_s = std::chrono::duration<double>(settings.period).count();
  // The first readings weigh alike, so that the mean does not hang on the very first.
  ++anchor_readings_;
  const double share = std::max(1.0 / anchor_readings_, std::min(1.0, period_s / kAnchorSeconds));
  anchor_ *= std::exp(share * std::log(capacity / anchor_));
  anchor_readings_ = std::min(anchor_readings_, 1'000'000U);
}

void CapacityEstimate::resume(double capacity) {
  value_ = capacity;
  anchor_ = capacity;
  anchor_readings_ = capacity > 0 ? kAnchorFrom : 0;
}

}  // namespace spillway::capacity
