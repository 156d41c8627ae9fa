#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "resilience/latency.h"
#include "resilience/limiter.h"

namespace spillway::resilience {

/// Gathers calls into windows for a limiter. A window closes after a second with 20 calls in it,
/// or after ten seconds with any: few calls are carried over, never thrown away, and drops alone
/// close one too. A window lasts at least two of its median latencies, so that a change of the
/// limit shows in it.
///
/// One thread. About 1.4 kB.
class LimiterWindowBuilder {
 public:
  explicit LimiterWindowBuilder(base::Instant start) : start_(start) {}

  /// Every answer is added once with `uncongested` false, and those that began so once more.
  void add_latencies(size_t bucket, uint32_t count, bool uncongested);
  void add_call(base::Duration latency, uint32_t in_flight, uint32_t uncongested_most,
                bool dropped);

  void add_overloads(uint64_t count) { overloads_ += count; }

  void add_timeouts(uint64_t count) { timeouts_ += count; }

  void note_in_flight(uint32_t in_flight) {
    in_flight_ = in_flight > in_flight_ ? in_flight : in_flight_;
  }

  /// The window, when it is due; a new one begins.
  std::optional<LimiterWindow> close(base::Instant now);

 private:
  base::Instant start_;
  FadingHistogram all_;
  FadingHistogram uncongested_;
  uint64_t overloads_ = 0;
  uint64_t timeouts_ = 0;
  uint32_t in_flight_ = 0;
};

}  // namespace spillway::resilience
