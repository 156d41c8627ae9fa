#include "resilience/limiter_window.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "resilience/limiter.h"
#include "resilience/log_buckets.h"

namespace spillway::resilience {

namespace {

constexpr base::Duration kShortest = std::chrono::seconds(1);
constexpr base::Duration kLongest = std::chrono::seconds(10);
constexpr uint64_t kFewest = 20;
constexpr double kLow = 0.1;

}  // namespace

void LimiterWindowBuilder::add_latencies(size_t bucket, uint32_t count, bool uncongested) {
  (uncongested ? uncongested_ : all_).add(bucket, count);
}

void LimiterWindowBuilder::add_call(base::Duration latency, uint32_t in_flight,
                                    uint32_t uncongested_most, bool dropped) {
  note_in_flight(in_flight);
  if (dropped) {
    add_overloads(1);
  } else {
    const size_t bucket = LogBuckets::of(latency);
    add_latencies(bucket, 1, false);
    if (in_flight <= uncongested_most) {
      add_latencies(bucket, 1, true);
    }
  }
}

std::optional<LimiterWindow> LimiterWindowBuilder::close(base::Instant now) {
  const base::Duration length = now - start_;
  const auto answers = static_cast<uint64_t>(all_.weight());
  const uint64_t calls = answers + overloads_ + timeouts_;
  if (length < kShortest || calls == 0 || (calls < kFewest && length < kLongest)) {
    return std::nullopt;
  }
  const base::Duration median = all_.quantile(0.5);
  if (length < std::min(median * 2, kLongest)) {
    return std::nullopt;
  }
  LimiterWindow window{.at = now,
                       .length = length,
                       .answers = answers,
                       .drops = overloads_ + timeouts_,
                       .timeouts = timeouts_,
                       .low = all_.quantile(kLow),
                       .median = median,
                       .uncongested = static_cast<uint64_t>(uncongested_.weight()),
                       .uncongested_low = uncongested_.quantile(kLow),
                       .in_flight = in_flight_};
  start_ = now;
  all_ = {};
  uncongested_ = {};
  overloads_ = 0;
  timeouts_ = 0;
  in_flight_ = 0;
  return window;
}

}  // namespace spillway::resilience
