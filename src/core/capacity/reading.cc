#include "capacity/reading.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/time.h"
#include "capacity/sample.h"

namespace spillway::capacity {

namespace {

constexpr std::array<std::string_view, kReasons> kNames = {
    "no_peers",     "remembered_mean", "sensor_dead", "sensor_stuck",
    "cold_reading", "above_class",     "below_class", "lying",
    "boost",        "prior",           "failing",     "shared_failure",
    "prior_clamp",  "range_clamp",     "top_anchor",  "step_limit",
    "ramp",         "warming",         "draining",    "frozen",
    "pinned",       "gain_limited",    "cpu_only",
};

}  // namespace

Reading sound(const Reading& reading) {
  const auto within = [](double value, double most) {
    return std::isfinite(value) ? std::clamp(value, 0.0, most) : 0;
  };
  const auto at_most_years = [](base::Duration duration) {
    return std::clamp(duration, base::Duration::zero(), base::Duration(std::chrono::years(10)));
  };
  return {.utilization = within(reading.utilization, 1),
          .successes_per_second = within(reading.successes_per_second, kMostPerSecond),
          .requests_per_second = within(reading.requests_per_second, kMostPerSecond),
          .failures_per_second = within(reading.failures_per_second, kMostPerSecond),
          .throttled_share = within(reading.throttled_share, 1),
          .pressure = within(reading.pressure, 1),
          .p95_ms = within(reading.p95_ms, kMostMs),
          .window = at_most_years(reading.window),
          .serving_for = at_most_years(reading.serving_for),
          .sensor_alive = reading.sensor_alive && std::isfinite(reading.utilization),
          .counts_successes = reading.counts_successes};
}

Reading reading_of(const Sample& sample) {
  return {.utilization = sample.utilization,
          .successes_per_second = sample.successes_per_second,
          .requests_per_second = sample.requests_per_second,
          .failures_per_second = sample.failures_per_second,
          .throttled_share = sample.throttled_share,
          .pressure = sample.pressure,
          .p95_ms = sample.p95_ms,
          .window = sample.window,
          .serving_for = sample.serving_for,
          .sensor_alive = sample.sensor_alive,
          .counts_successes = sample.counts_successes};
}

std::string_view to_string(Reason reason) { return kNames[static_cast<size_t>(reason)]; }

std::string to_string(Reasons reasons) {
  std::string text;
  for (size_t i = 0; i < kReasons; ++i) {
    if (reasons.has(static_cast<Reason>(i))) {
      text.append(text.empty() ? "" : ",").append(kNames[i]);
    }
  }
  return text;
}

}  // namespace spillway::capacity
