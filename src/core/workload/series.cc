#include "workload/series.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/time.h"
#include "workload/latency_histogram.h"
#include "workload/tally.h"

namespace spillway::workload {

namespace {

using std::chrono::seconds;

/// Whole seconds, the fewest that keep the count of intervals in bounds.
base::Duration interval_of(base::Duration duration) {
  const auto whole = std::chrono::ceil<seconds>(duration).count();
  const auto most = static_cast<int64_t>(Series::kIntervalsMax);
  return seconds(std::max<int64_t>(1, (whole + most - 1) / most));
}

}  // namespace

base::Duration Interval::quantile(double ratio) const {
  const uint64_t rank = quantile_rank(ratio, ended);
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < latency.size(); ++bucket) {
    seen += latency[bucket];
    if (seen >= rank) {
      return LatencyBuckets::middle(bucket);
    }
  }
  return {};
}

Series::Series(base::Instant start, base::Duration duration, base::Duration late_after)
    : start_(start), interval_(interval_of(duration)), late_after_(late_after) {
  const auto count = (duration + interval_ - base::Duration(1)) / interval_;
  intervals_.resize(static_cast<size_t>(std::max<int64_t>(1, count)));
}

Interval& Series::at(base::Instant when) {
  const auto index = std::max<int64_t>(0, (when - start_) / interval_);
  return intervals_[std::min(static_cast<size_t>(index), intervals_.size() - 1)];
}

void Series::record(const Sample& sample) {
  Interval& due = at(sample.due);
  ++due.ended;
  due.failed += sample.failed() ? 1 : 0;
  due.over_tmax += sample.over_tmax() ? 1 : 0;
  due.bids += sample.answer == AnswerKind::kBid ? 1 : 0;
  due.late += sample.lag() > late_after_ ? 1 : 0;
  due.max_lag = std::max(due.max_lag, sample.lag());
  if (due.latency.empty()) {
    due.latency.resize(LatencyBuckets::kCount);
  }
  ++due.latency[LatencyBuckets::of(sample.latency())];
  if (sample.status != 0) {
    ++at(sample.ended).answered;
  }
}

void Series::note_lag(base::Instant now, base::Duration lag) {
  // A long hold-up reaches over the intervals before.
  for (base::Instant when = now - lag; when < now; when += interval_) {
    Interval& held = at(when);
    held.max_lag = std::max(held.max_lag, lag);
  }
  Interval& ends = at(now);
  ends.max_lag = std::max(ends.max_lag, lag);
}

void Series::note_cpu(base::Instant now, double ratio) {
  Interval& interval = at(now);
  interval.cpu_ratio = std::max(interval.cpu_ratio, ratio);
}

void Series::merge(const Series& other) {
  SPILLWAY_ASSERT(other.intervals_.size() == intervals_.size());
  for (size_t i = 0; i < intervals_.size(); ++i) {
    Interval& to = intervals_[i];
    const Interval& from = other.intervals_[i];
    to.offered += from.offered;
    to.dropped += from.dropped;
    to.late += from.late;
    to.ended += from.ended;
    to.failed += from.failed;
    to.bids += from.bids;
    to.over_tmax += from.over_tmax;
    to.answered += from.answered;
    to.max_lag = std::max(to.max_lag, from.max_lag);
    to.cpu_ratio = std::max(to.cpu_ratio, from.cpu_ratio);
    to.latency.resize(std::max(to.latency.size(), from.latency.size()));
    for (size_t bucket = 0; bucket < from.latency.size(); ++bucket) {
      to.latency[bucket] += from.latency[bucket];
    }
  }
}

bool Series::starved(size_t interval) const {
  const Interval& one = intervals_[interval];
  return one.max_lag > late_after_ || one.cpu_ratio >= kBusyRatio;
}

size_t Series::starved_count() const {
  size_t count = 0;
  for (size_t i = 0; i < intervals_.size(); ++i) {
    count += starved(i) ? 1 : 0;
  }
  return count;
}

}  // namespace spillway::workload
