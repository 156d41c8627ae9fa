#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/counter.h"
#include "base/time.h"

namespace spillway::base {

/// Counts of durations in log-linear buckets: 32 equal parts to every power of two of microseconds,
/// so a bucket is at most 1/32 (3.2 %) of its value wide and its middle is within 1.6 %. Range 1 us
/// to about 67 s; larger values land in the last bucket, negative ones in the first.
///
/// One writer, any number of readers; 700 buckets of 8 bytes; recording is one increment.
class Histogram {
 public:
  static constexpr size_t kSubBits = 5;
  static constexpr size_t kBuckets = (26 - kSubBits + 1) * (size_t{1} << kSubBits);

  void record(Duration value) {
    counts_[bucket_of(value)].add();
    const auto nanos = value.count();
    sum_nanos_.add(nanos > 0 ? static_cast<uint64_t>(nanos) : 0);
  }

  /// Bucket index of a value, and the exclusive upper edge of a bucket in microseconds.
  [[nodiscard]] static size_t bucket_of(Duration value);
  [[nodiscard]] static uint64_t upper_us(size_t bucket);

  [[nodiscard]] uint64_t count(size_t bucket) const { return counts_[bucket].value(); }

  [[nodiscard]] uint64_t total() const;

  [[nodiscard]] Duration sum() const { return Duration(static_cast<int64_t>(sum_nanos_.value())); }

  /// Values known to be at or below `bound`, counted by whole buckets.
  [[nodiscard]] uint64_t count_at_most(Duration bound) const;

  /// The value below which `ratio` (in [0, 1]) of the recorded values lie; zero when empty.
  [[nodiscard]] Duration quantile(double ratio) const;

  /// Adds `count` values to a bucket, whose times are not in sum(): for copies.
  void add(size_t bucket, uint64_t count) { counts_[bucket].add(count); }

  /// Adds another histogram's counts: for sums over workers, made in a private copy.
  void merge(const Histogram& other);

 private:
  std::array<Counter, kBuckets> counts_;
  Counter sum_nanos_;
};

}  // namespace spillway::base
