#include "capacity/law_settings.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "capacity/checker.h"
#include "capacity/problem.h"
#include "capacity/stability.h"
#include "capacity/weight.h"

namespace spillway::capacity {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::array<std::string_view, 6> kNames = {
    "equal", "static", "setpoint", "zone_mean_additive", "zone_mean_multiplicative", "capacity"};

void check_weights(const LawSettings& settings, Checker& check) {
  check.within("mean_weight", settings.mean_weight, 10, 200);
  check.within("top_weight", settings.top_weight, settings.mean_weight, kMostWeight);
  check.within("min_weight", settings.min_weight, kLeastWeight, settings.mean_weight);
  check.within("max_weight", settings.max_weight, settings.mean_weight, kMostWeight);
  check.within("static_weight", settings.static_weight, kLeastWeight, kMostWeight);
  check.within("max_step", settings.max_step, 0.01, 10);
  check.within("failing_step", settings.failing_step, settings.max_step, 10);
  check.within("prior_band", settings.prior_band, 1.1, 100);
}

void check_estimate(const LawSettings& settings, Checker& check) {
  check.within("smoothing", settings.smoothing, 0.01, 1);
  check.within("boost", settings.boost, settings.smoothing, 1);
  check.within("boost_error", settings.boost_error, 0.01, 1);
  check.within("min_utilization", settings.min_utilization, 0, 0.5);
  check.within("min_successes_per_second", settings.min_successes_per_second, 0, 1e6);
  check.within("warm_up", settings.warm_up, milliseconds(0), minutes(10));
  check.within("class_band", settings.class_band, 1.1, 100);
  check.within("failure_penalty", settings.failure_penalty, 0, 100);
}

void check_lies(const LawSettings& settings, Checker& check) {
  check.within("lie_utilization", settings.lie_utilization, 0, 1);
  check.within("lie_throttled_share", settings.lie_throttled_share, 0.01, 1);
  check.within("lie_pressure", settings.lie_pressure, 0.01, 1);
  check.within("lie_latency_ratio", settings.lie_latency_ratio, 1.5, 100);
  check.within("stuck_after", settings.stuck_after, 3, 1000);
  check.within("failing_share", settings.failing_share, 0.05, 1);
}

/// The gain of the law's loop at the start, where it is largest; 0: it has none that can ring.
double first_loop_gain(const LawSettings& settings) {
  switch (settings.law) {
    case LawKind::kSetpoint:
      return additive_loop_gain(settings.gain, settings.setpoint, settings.smallest_weight);
    case LawKind::kZoneMeanAdditive:
      return additive_loop_gain(settings.gain, 0.65, settings.smallest_weight);
    case LawKind::kZoneMeanMultiplicative:
      return settings.gain;
    case LawKind::kEqual:
    case LawKind::kStatic:
    case LawKind::kCapacity:
      return 0;
  }
  return 0;
}

void check_gain(const LawSettings& settings, Checker& check) {
  const GainCheck gain{
      .delay_periods = delay_periods(settings.period, settings.own_delay, settings.mean_delay),
      .gain = first_loop_gain(settings),
      .largest = max_gain(delay_periods(settings.period, settings.own_delay, settings.mean_delay))};
  if (gain.safe() || settings.allow_unsafe_gain) {
    return;
  }
  const double factor = gain.gain / settings.gain;
  check.add("gain", digits(settings.gain) + " is unsafe: " + std::string(to_string(settings.law)) +
                        " acts " + digits(gain.delay_periods) +
                        " periods late, where a loop gain above " + digits(gain.largest) +
                        " rings for ever, and this one's is " + digits(gain.gain) + "; at most " +
                        digits(kGainReserve * gain.largest / factor) + ", best " +
                        digits(best_gain(gain.delay_periods) / factor) + ", or a longer period");
}

}  // namespace

std::string_view to_string(LawKind law) { return kNames[static_cast<size_t>(law)]; }

std::optional<LawKind> law_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<LawKind>(i);
    }
  }
  return std::nullopt;
}

std::vector<Problem> check(const LawSettings& settings) {
  Checker check;
  check.within("period", settings.period, milliseconds(100), minutes(10));
  check.within("own_delay", settings.own_delay, milliseconds(0), minutes(10));
  check.within("mean_delay", settings.mean_delay, milliseconds(0), minutes(10));
  check.within("gain", settings.gain, 0.001, 2);
  check.within("smallest_weight", settings.smallest_weight, 1, 100);
  check.within("setpoint", settings.setpoint, 0.05, 0.95);
  check_weights(settings, check);
  check_estimate(settings, check);
  check_lies(settings, check);
  check.within("ramp", settings.ramp, milliseconds(0), minutes(10));
  check.within("ramp_from", settings.ramp_from, 0.01, 1);
  check.within("remember_mean", settings.remember_mean, milliseconds(0), hours(1));
  check.within("latency_cores", settings.latency_cores, 1, 1024);
  check.within("latency_utilization", settings.latency_utilization, 0.1, 0.99);
  if (check.clean()) {
    check_gain(settings, check);
  }
  return check.take();
}

}  // namespace spillway::capacity
