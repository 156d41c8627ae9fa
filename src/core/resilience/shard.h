#pragma once

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

/// What one worker writes about one leaf; the ticking thread reads it. Every field has one writer.
struct alignas(64) Shard {
  std::array<base::Counter, 5> admitted;  ///< By Admitted.
  base::Counter released;                 ///< Tails that ended: admitted - released are in flight.
  EpochCounter good;
  std::atomic<int64_t> last_good_ns{INT64_MIN};  ///< When the last good call of any epoch ended.
  std::array<base::Counter, kOutcomes> outcomes;
  BucketCounts latencies;
  BucketCounts offered;

  EpochCounter bad;
  EpochCounter overload;
  EpochCounter resets;
  base::Counter late_answers;  ///< Latencies that a Tail brought.
  base::Counter late;
  std::array<base::Counter, 5> refused;  ///< By Refusal.
  std::array<base::Counter, 5> would_refuse;
  BadCallRing bad_calls;
};

}  // namespace spillway::resilience
