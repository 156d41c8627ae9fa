#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/counter.h"
#include "base/time.h"
#include "resilience/log_buckets.h"
#include "resilience/outcome.h"
#include "resilience/proof.h"

namespace spillway::resilience {

/// A count that belongs to an epoch: low 24 bits of the epoch and 40 bits of count in one word. The
/// first add in a new epoch starts from zero, and readers of an epoch see no other epoch's count:
/// late results are fenced without a handshake. One writer, any readers.
class EpochCounter {
 public:
  void add(uint32_t epoch) {
    const uint64_t tag = static_cast<uint64_t>(epoch) << kCountBits;
    const uint64_t word = word_.load(std::memory_order_relaxed);
    word_.store(((word ^ tag) >> kCountBits) == 0 ? word + 1 : tag + 1, std::memory_order_release);
  }

  [[nodiscard]] uint64_t count(uint32_t epoch) const {
    const uint64_t tag = static_cast<uint64_t>(epoch) << kCountBits;
    const uint64_t word = word_.load(std::memory_order_acquire);
    return ((word ^ tag) >> kCountBits) == 0 ? word - tag : 0;
  }

 private:
  static constexpr unsigned kCountBits = 40;
  AtomicCount<uint64_t> word_{0};
};

/// The last bad calls of a worker, for the run rule. One writer, one reader, 32 calls; more between
/// two reads are dropped: at such volumes the run rule does not judge.
class BadCallRing {
 public:
  struct Entry {
    base::Instant started{};
    base::Instant ended{};
    uint32_t epoch = 0;
    bool overload = false;
  };

  void push(const Entry& entry) {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) < kEntries) {
      entries_[head % kEntries] = entry;
      head_.store(head + 1, std::memory_order_release);
    }
  }

  template <typename Sink>
  void drain(Sink sink) {
    uint32_t tail = tail_.load(std::memory_order_relaxed);
    const uint32_t head = head_.load(std::memory_order_acquire);
    for (; tail != head; ++tail) {
      sink(entries_[tail % kEntries]);
    }
    tail_.store(tail, std::memory_order_release);
  }

 private:
  static constexpr uint32_t kEntries = 32;
  std::atomic<uint32_t> head_{0};
  std::atomic<uint32_t> tail_{0};
  std::array<Entry, kEntries> entries_{};
};

/// The calls in flight by when they pass their slow line, so that a tick sees the overdue ones
/// before they end. 64 buckets of 67 ms on a circle: a slow line lies less than half of it ahead,
/// and calls overdue for longer than that may be missed. One writer, any readers.
class OverdueRing {
 public:
  static constexpr unsigned kWidthBits = 26;  ///< Nanoseconds of a bucket, as a power of two.
  static constexpr int64_t kBuckets = 64;
  static constexpr int64_t kHorizonNs = (kBuckets / 2 - 1) << kWidthBits;

  static uint8_t bucket_of(int64_t due_ns) {
    return static_cast<uint8_t>((due_ns >> kWidthBits) & (kBuckets - 1));
  }

  void add(uint8_t bucket) { change(bucket, 1); }

  void remove(uint8_t bucket) { change(bucket, UINT32_MAX); }

  /// Calls `sink(due, calls)` for every bucket that was due wholly after `from` and is wholly past
  /// at `now`; `due` is its end.
  template <typename Sink>
  void overdue(base::Instant from, base::Instant now, Sink sink) const {
    const int64_t last = now.time_since_epoch().count() >> kWidthBits;
    const int64_t first =
        std::max(last - kBuckets / 2 + 1, (from.time_since_epoch().count() >> kWidthBits) + 1);
    for (int64_t i = first; i < last; ++i) {
      const auto bucket = static_cast<size_t>(i & (kBuckets - 1));
      if (const uint32_t calls = counts_[bucket].load(std::memory_order_relaxed)) {
        sink(base::Instant(base::Duration((i + 1) << kWidthBits)), calls);
      }
    }
  }

 private:
  void change(uint8_t bucket, uint32_t by) {
    auto& count = counts_[bucket];
    count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint32_t>, kBuckets> counts_{};
};

/// What one worker writes about one leaf; the ticking thread reads it. Every field has one writer.
struct alignas(64) Shard {
  std::array<base::Counter, 5> admitted;  ///< By Admitted.
  base::Counter released;                 ///< Tails that ended: admitted - released are in flight.
  EpochCounter good;
  std::atomic<int64_t> last_good_ns{INT64_MIN};  ///< When the last good call of any epoch ended.
  std::array<base::Counter, kOutcomes> outcomes;
  BucketCounts latencies;
  BucketCounts uncongested;  ///< Of those: calls begun while few were in flight.
  BucketCounts offered;

  EpochCounter bad;
  EpochCounter overload;
  EpochCounter resets;
  EpochCounter slow;           ///< Of the bad: slow ones and timeouts.
  EpochCounter slow_only;      ///< Of those: the ones that were no failure.
  EpochCounter over_p99;       ///< Of the good: over the p99 ceiling of classic rules.
  base::Counter timeouts;      ///< Drops for the limiter: results of a passed epoch are none.
  base::Counter overloads;     ///< The same.
  base::Counter late_answers;  ///< Latencies that a Tail brought.
  base::Counter late;
  std::array<base::Counter, 5> refused;  ///< By Refusal.
  std::array<base::Counter, 5> would_refuse;
  BadCallRing bad_calls;
  OverdueRing in_flight;
};

}  // namespace spillway::resilience
