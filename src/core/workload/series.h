#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "workload/tally.h"

namespace spillway::workload {

/// What happened in one stretch of a run. Requests belong to the interval they were due in, whole
/// answers to the one they came in.
struct Interval {
  uint64_t offered = 0, dropped = 0, late = 0;
  uint64_t ended = 0, failed = 0, bids = 0, over_tmax = 0;
  uint64_t answered = 0;
  base::Duration max_lag{};       ///< The latest we did anything that was due.
  double cpu_ratio = 0;           ///< Of the busiest worker's thread.
  std::vector<uint32_t> latency;  ///< By LatencyBuckets; empty before the first.

  [[nodiscard]] base::Duration quantile(double ratio) const;
};

/// A run second by second. Runs of over an hour have longer intervals, so that there are never more
/// than kIntervalsMax: at most 24 MiB. One thread owns it.
class Series {
 public:
  static constexpr size_t kIntervalsMax = 3600;
  static constexpr double kBusyRatio = 0.9;

  Series(base::Instant start, base::Duration duration, base::Duration late_after);

  void offer(base::Instant due) { ++at(due).offered; }

  void drop(base::Instant due) { ++at(due).dropped; }

  void record(const Sample& sample);

  /// Something of ours that was due `lag` before `now` was done only then.
  void note_lag(base::Instant now, base::Duration lag);

  /// A worker's share of a processor over the interval that `now` lies in.
  void note_cpu(base::Instant now, double ratio);

  /// Adds another worker's. Requires the same start and length.
  void merge(const Series& other);

  [[nodiscard]] base::Duration interval() const { return interval_; }

  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

  /// We were the bottleneck there: something of ours was done later than `late_after`, or a worker
  /// was busy for kBusyRatio of the time. What its latencies say is then also about us.
  [[nodiscard]] bool starved(size_t interval) const;

  [[nodiscard]] size_t starved_count() const;

 private:
  Interval& at(base::Instant when);

  base::Instant start_;
  base::Duration interval_;
  base::Duration late_after_;
  std::vector<Interval> intervals_;
};

}  // namespace spillway::workload
