#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"

namespace spillway::workload {

/// Buckets of a latency: 64 equal parts to every power of two of 100 ns, so a bucket's middle is
/// within 0.8 % of every value in it (below 6.4 us within 50 ns). Up to 107 s; larger values land
/// in the last one, negative ones in the first. Finer than base::Histogram, which lives in every
/// server; the price is 12.5 KiB.
struct LatencyBuckets {
  static constexpr size_t kSubBits = 6;
  static constexpr size_t kCount = (30 - kSubBits + 1) * (size_t{1} << kSubBits);

  [[nodiscard]] static size_t of(base::Duration value);
  /// Exclusive upper edge; the lower edge is the upper one of the bucket before.
  [[nodiscard]] static base::Duration upper(size_t bucket);
  [[nodiscard]] static base::Duration middle(size_t bucket);
};

/// The largest bucket rank that `ratio` (in [0, 1]) of `total` values needs; from 1.
[[nodiscard]] uint64_t quantile_rank(double ratio, uint64_t total);

/// Counts of latencies. Mergeable; written out and read back without loss. One writer, any number
/// of readers; recording is one increment.
/// Source: Tene, HdrHistogram (the idea of fixed relative error).
class LatencyHistogram {
 public:
  void record(base::Duration value) { counts_[LatencyBuckets::of(value)].add(); }

  void add(size_t bucket, uint64_t count) { counts_[bucket].add(count); }

  [[nodiscard]] uint64_t count(size_t bucket) const { return counts_[bucket].value(); }

  [[nodiscard]] uint64_t total() const;

  /// The value below which `ratio` of the recorded ones lie, as its bucket's middle; 0 when empty.
  [[nodiscard]] base::Duration quantile(double ratio) const;

  void merge(const LatencyHistogram& other);

  /// "low_ns,high_ns,count" and a line for every bucket that is not empty.
  [[nodiscard]] std::string dump() const;
  /// Reads a dump. The error is the first line (from 1) that is none.
  [[nodiscard]] static base::Result<LatencyHistogram, int> parse(std::string_view dump);

  LatencyHistogram() = default;
  ~LatencyHistogram() = default;

  LatencyHistogram(const LatencyHistogram& other) { merge(other); }

  LatencyHistogram& operator=(const LatencyHistogram& other);

 private:
  std::array<base::Counter, LatencyBuckets::kCount> counts_{};
};

}  // namespace spillway::workload
