#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "capacity/problem.h"

namespace spillway::capacity {

/// How a server finds its weight.
enum class LawKind : uint8_t {
  kEqual,                   ///< `mean_weight` for all.
  kStatic,                  ///< `static_weight`: a table kept by hand.
  kSetpoint,                ///< w += 100·gain·(setpoint − u). Collapses above the set-point.
  kZoneMeanAdditive,        ///< w += 100·gain·(ū − u), ū the zone's mean.
  kZoneMeanMultiplicative,  ///< w *= (ū/u)^gain.
  kCapacity,                ///< w ∝ smoothed successes a second and unit of CPU. The default.
};

[[nodiscard]] std::string_view to_string(LawKind law);

/// "equal", "static", "setpoint", "zone_mean_additive", "zone_mean_multiplicative", "capacity".
[[nodiscard]] std::optional<LawKind> law_of(std::string_view name);

/// Of one law, whatever its kind; docs/balancing.md says what each is for.
struct LawSettings {
  LawKind law = LawKind::kCapacity;

  /// Between two steps. Larger: calmer readings, slower. [100 ms, 10 min].
  base::Duration period = std::chrono::seconds(2);
  /// From a decision until the traffic follows it: poll and proxy. [0, 10 min].
  base::Duration own_delay = std::chrono::milliseconds(500);
  /// How old the peers' samples are when used. Measured while running; this is for the start.
  /// [0, 10 min].
  base::Duration mean_delay = std::chrono::seconds(2);

  /// Of the laws that integrate. Larger: faster, and unstable above max_gain(delay). [0.001, 2].
  double gain = 0.2;
  /// Runs a gain that is unsafe for the delay: to show what happens, never in production.
  bool allow_unsafe_gain = false;
  /// The smallest weight expected: the additive law's gain is largest there. [1, 100].
  double smallest_weight = 25;
  /// Of `setpoint`. [0.05, 0.95].
  double setpoint = 0.65;
  /// Of `static`. [1, 256].
  double static_weight = 100;

  /// What an average server weighs, and at first everybody. [10, 200].
  double mean_weight = 100;
  /// What the largest of a zone weighs at most; the rest follows it down. [mean_weight, 256].
  double top_weight = 240;
  /// [1, mean_weight].
  double min_weight = 1;
  /// [mean_weight, 256].
  double max_weight = 256;
  /// |d ln w| a step. [0.01, 10].
  double max_step = 0.3;
  /// The same, downward, of a server that fails. [max_step, 10].
  double failing_step = 1;
  /// A weight stays within prior/band to prior·band, the prior being the class's. [1.1, 100].
  double prior_band = 2;

  /// Share of a new reading of capacity in the estimate. Larger: faster, noisier. [0.01, 1].
  double smoothing = 0.1;
  /// The same after two readings off by more than boost_error to the same side. [smoothing, 1].
  double boost = 0.6;
  /// In ln. [0.01, 1].
  double boost_error = 0.1;
  /// Below these a reading of capacity says nothing and is not used. [0, 0.5], [0, 1e6].
  double min_utilization = 0.05;
  double min_successes_per_second = 50;
  /// Nor while serving for less than that. [0, 10 min].
  base::Duration warm_up = std::chrono::seconds(4);
  /// A reading above band × the class's median is a lie, one below it counts as median/band.
  /// [1.1, 100].
  double class_band = 2;
  /// What one failure in all answers adds to the utilization used. [0, 100].
  double failure_penalty = 1;

  /// A sensor is not believed when it says less than this share of the peers' mean and any of the
  /// following says the server is busy. [0, 1].
  double lie_utilization = 0.5;
  double lie_throttled_share = 0.1;  ///< [0.01, 1].
  double lie_pressure = 0.25;        ///< [0.01, 1].
  double lie_latency_ratio = 3;      ///< Own p95 over the peers' median. [1.5, 100].
  /// Readings alike to the last bit, while the traffic moves, after which a sensor is dead.
  /// [3, 1000].
  uint32_t stuck_after = 5;

  /// A server that fails more than this share, and more than twice its peers' median, gets
  /// min_weight until it does not. [0.05, 1].
  double failing_share = 0.3;

  /// A newcomer's weight grows from ramp_from to all of it in this time. 0: at once. [0, 10 min].
  base::Duration ramp = std::chrono::seconds(45);
  double ramp_from = 0.1;  ///< [0.01, 1].

  /// How long the zone's last mean is used when no peer is heard; then the weight is held.
  /// [0, 1 h].
  base::Duration remember_mean = std::chrono::minutes(10);

  /// Makes the tail of the waiting time alike instead of the utilization: see latency_offset.h.
  bool latency_equal = false;
  double latency_cores = 16;  ///< Of the machine that the set-point is stated for. [1, 1024].
  double latency_utilization = 0.8;  ///< Its utilization. [0.1, 0.99].
};

/// Every broken rule, a gain that is unsafe for the delay among them; empty when sound.
[[nodiscard]] std::vector<Problem> check(const LawSettings& settings);

}  // namespace spillway::capacity
