#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::resilience {

/// Durations sorted into 8 equal parts of every power of two of 2^16 ns, from 65 µs to 68 s: a
/// bucket is at most 1/8 of its value wide. Smaller and larger values land in the end buckets.
struct LogBuckets {
  static constexpr unsigned kSubBits = 3;
  static constexpr unsigned kUnitBits = 13;  ///< 8.2 µs: an eighth of the smallest octave.
  static constexpr size_t kCount = 168;

  [[nodiscard]] static constexpr size_t of(base::Duration value) {
    const int64_t nanos = value.count();
    if (nanos <= 0) {
      return 0;
    }
    const uint64_t units = static_cast<uint64_t>(nanos) >> kUnitBits;
    if (units < (1U << kSubBits)) {
      return units;
    }
    const auto octave = static_cast<unsigned>(std::bit_width(units)) - kSubBits - 1;
    const size_t index = ((octave + 1) << kSubBits) + ((units >> octave) & ((1U << kSubBits) - 1));
    return index < kCount ? index : kCount - 1;
  }

  /// Smallest duration of a bucket, in nanoseconds.
  [[nodiscard]] static constexpr double lower_ns(size_t bucket) {
    const size_t octave = bucket >> kSubBits;
    const auto sub = static_cast<double>(bucket & ((1U << kSubBits) - 1));
    const double unit = static_cast<double>(uint64_t{1} << kUnitBits);
    if (octave == 0) {
      return sub * unit;
    }
    return (8.0 + sub) * unit * static_cast<double>(uint64_t{1} << (octave - 1));
  }
};

/// Counts by bucket: one writer, any readers, values wrap at 2^32 and are read by difference.
class BucketCounts {
 public:
  void record(base::Duration value) {
    auto& count = counts_[LogBuckets::of(value)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] uint32_t count(size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<uint32_t>, LogBuckets::kCount> counts_{};
};

}  // namespace spillway::resilience
