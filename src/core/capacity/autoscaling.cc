#include "capacity/autoscaling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/time.h"
#include "capacity/checker.h"
#include "capacity/problem.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

namespace {

constexpr double kSaturated = 0.98;

}  // namespace

std::string_view to_string(ScalingMetric metric) {
  return metric == ScalingMetric::kMeanUtilization ? "mean_utilization" : "demand_over_capacity";
}

std::vector<Problem> check(const ScalingSettings& settings) {
  using std::chrono::hours;
  Checker check;
  check.within("target", settings.target, 0.05, 0.95);
  check.within("in_below", settings.in_below, 0.1, 0.99);
  check.within("out_after", settings.out_after, base::Duration::zero(), hours(1));
  check.within("in_after", settings.in_after, base::Duration::zero(), hours(1));
  check.within("cooldown", settings.cooldown, base::Duration::zero(), hours(1));
  check.within("max_servers", settings.max_servers, 1, 100'000);
  check.within("min_servers", settings.min_servers, 1, settings.max_servers);
  return check.take();
}

FleetLoad fleet_load(const ZoneView& view, base::Instant now, std::string_view zone) {
  FleetLoad load;
  uint32_t sensing = 0;
  uint32_t estimating = 0;
  uint32_t saturated = 0;
  for (const auto& [id, sample] : view.samples()) {
    const bool serving =
        sample.state == ServerState::kServing || sample.state == ServerState::kFrozen;
    if (!serving || !view.is_live(now, sample) || (!zone.empty() && sample.zone != zone)) {
      continue;
    }
    ++load.servers;
    load.demand_per_second += sample.requests_per_second;
    if (sample.sensor_alive) {
      ++sensing;
      load.mean_utilization += sample.utilization;
      saturated += sample.utilization >= kSaturated ? 1 : 0;
    }
    if (sample.capacity > 0) {
      ++estimating;
      load.capacity_per_second += sample.capacity;
    }
  }
  load.mean_utilization /= std::max(1U, sensing);
  load.saturated_share = static_cast<double>(saturated) / std::max(1U, sensing);
  load.capacity_per_second *= static_cast<double>(load.servers) / std::max(1U, estimating);
  return load;
}

double measure(ScalingMetric metric, const FleetLoad& load) {
  if (load.servers == 0) {
    return 0;
  }
  if (metric == ScalingMetric::kMeanUtilization) {
    return load.mean_utilization;
  }
  return load.capacity_per_second > 0 ? load.demand_per_second / load.capacity_per_second : 0;
}

uint32_t servers_needed(const ScalingSettings& settings, const FleetLoad& load) {
  const double metric = measure(settings.metric, load);
  // The epsilon keeps a fleet exactly at its target from growing by a rounding error.
  const double needed = metric > 0 ? std::ceil(load.servers * metric / settings.target - 1e-9)
                                   : static_cast<double>(load.servers);
  return static_cast<uint32_t>(std::clamp(needed, static_cast<double>(settings.min_servers),
                                          static_cast<double>(settings.max_servers)));
}

double stuck_mean(double setpoint, double saturated_share) {
  return setpoint + (1 - setpoint) * saturated_share;
}

Autoscaler::Autoscaler(const ScalingSettings& settings) : settings_(settings) {
  SPILLWAY_ASSERT(check(settings).empty());
}

ScalingDecision Autoscaler::step(base::Instant now, const FleetLoad& load) {
  ScalingDecision decision{.servers = load.servers,
                           .metric = measure(settings_.metric, load),
                           .reason = ScalingReason::kAtTarget};
  const bool above = decision.metric > settings_.target;
  const bool below = decision.metric > 0 && decision.metric < settings_.target * settings_.in_below;
  above_since_ = above ? std::min(above_since_, now) : base::kNever;
  below_since_ = below ? std::min(below_since_, now) : base::kNever;
  if (!above && !below) {
    return decision;
  }
  const bool long_enough =
      above ? now - above_since_ >= settings_.out_after : now - below_since_ >= settings_.in_after;
  if (!long_enough) {
    decision.reason = ScalingReason::kWaiting;
    return decision;
  }
  if (now < may_change_at_) {
    decision.reason = ScalingReason::kCooldown;
    return decision;
  }
  const uint32_t needed = servers_needed(settings_, load);
  if (above ? needed <= load.servers : needed >= load.servers) {
    decision.reason = ScalingReason::kAtLimit;
    return decision;
  }
  decision.servers = needed;
  decision.reason = above ? ScalingReason::kOut : ScalingReason::kIn;
  may_change_at_ = now + settings_.cooldown;
  return decision;
}

}  // namespace spillway::capacity
