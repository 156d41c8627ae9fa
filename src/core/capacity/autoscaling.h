#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "capacity/problem.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

/// What the number of servers follows.
enum class ScalingMetric : uint8_t {
  kMeanUtilization,     ///< Mean CPU. Cannot exceed 1, so it hides how much too much there is.
  kDemandOverCapacity,  ///< What comes over what the servers can: rises above 1, never stuck.
};

/// "mean_utilization", "demand_over_capacity".
[[nodiscard]] std::string_view to_string(ScalingMetric metric);

/// Target tracking.
struct ScalingSettings {
  ScalingMetric metric = ScalingMetric::kDemandOverCapacity;
  double target = 0.65;  ///< Of the metric. [0.05, 0.95].
  /// Servers go only while the metric is below target × this. [0.1, 0.99].
  double in_below = 0.9;
  /// How long the metric must be above the target, or below in_below of it. [0, 1 h].
  base::Duration out_after = std::chrono::minutes(3);
  base::Duration in_after = std::chrono::minutes(15);
  /// After a change nothing changes for that long. [0, 1 h].
  base::Duration cooldown = std::chrono::minutes(1);
  uint32_t min_servers = 1;     ///< [1, max_servers].
  uint32_t max_servers = 1000;  ///< [1, 100 000].
};

[[nodiscard]] std::vector<Problem> check(const ScalingSettings& settings);

/// A fleet, or a zone of it, at a moment.
struct FleetLoad {
  uint32_t servers = 0;
  double mean_utilization = 0;
  double demand_per_second = 0;    ///< Requests that came.
  double capacity_per_second = 0;  ///< Sum of capacities: successes a second at 100 % CPU.
  double saturated_share = 0;      ///< Of the servers, those at 98 % and more.
};

/// Of the live servers that take traffic; of all zones when `zone` is empty. A server that does not
/// know its capacity counts with the mean of those that do.
[[nodiscard]] FleetLoad fleet_load(const ZoneView& view, base::Instant now, std::string_view zone);

/// 0 when there is nobody, or no capacity is known.
[[nodiscard]] double measure(ScalingMetric metric, const FleetLoad& load);

/// So many that the metric would be at its target, between min_servers and max_servers.
[[nodiscard]] uint32_t servers_needed(const ScalingSettings& settings, const FleetLoad& load);

/// The mean CPU at which a fleet that steers by a fixed set-point stands still, when so many of its
/// servers are saturated: SP + (1 − SP)·share. A target above it on mean CPU is never reached.
[[nodiscard]] double stuck_mean(double setpoint, double saturated_share);

enum class ScalingReason : uint8_t {
  kAtTarget,
  kWaiting,   ///< Off the target, not for long enough.
  kCooldown,  ///< A change is too fresh.
  kOut,
  kIn,
  kAtLimit,  ///< min_servers or max_servers stop it.
};

struct ScalingDecision {
  uint32_t servers = 0;  ///< Wanted; the present number when nothing changes.
  double metric = 0;
  ScalingReason reason = ScalingReason::kAtTarget;
};

/// Target tracking with a clock. One thread.
class Autoscaler {
 public:
  /// `settings` must be sound.
  explicit Autoscaler(const ScalingSettings& settings);

  ScalingDecision step(base::Instant now, const FleetLoad& load);

 private:
  ScalingSettings settings_;
  base::Instant above_since_ = base::kNever;
  base::Instant below_since_ = base::kNever;
  base::Instant may_change_at_ = base::Instant::min();
};

}  // namespace spillway::capacity
