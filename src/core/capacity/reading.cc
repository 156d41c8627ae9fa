#include "capacity/reading.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

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
