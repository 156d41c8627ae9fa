#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "base/histogram.h"
#include "base/time.h"

namespace spillway::base {

/// A quantile of what histograms recorded lately, of which they tell counts since the start only:
/// remembers their counts of one and of two windows ago. One thread; 11 KiB.
class RecentQuantile {
 public:
  /// `window`: asked each window, each answer is of what came since the last one. Asked more often,
  /// of what came in the last one to two windows; more seldom, since the last answer.
  explicit RecentQuantile(Duration window = std::chrono::milliseconds(900)) : window_(window) {}

  /// `all`: every count since the start, of all workers. The value below which `ratio` (in [0, 1])
  /// of what came lately lie; zero when nothing came. `now` does not go back.
  [[nodiscard]] Duration quantile(Instant now, const Histogram& all, double ratio);

 private:
  using Counts = std::array<uint64_t, Histogram::kBuckets>;

  Duration window_;
  Counts from_{};  ///< What answers count from.
  Counts next_{};  ///< What they will count from when it is a window old.
  Instant next_at_{};
  bool begun_ = false;
};

}  // namespace spillway::base
