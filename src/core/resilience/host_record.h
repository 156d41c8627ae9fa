#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/counter.h"
#include "base/time.h"
#include "resilience/ejection.h"
#include "resilience/log_buckets.h"
#include "resilience/pick.h"

namespace spillway::resilience {

/// What one worker writes about one host; the ticking thread reads it.
struct alignas(64) HostShard {
  base::Counter in_flight;
  std::array<base::Counter, kHostResults> results;  ///< By HostResult.
  base::Counter late;                               ///< Begun before the host last returned.
  BucketCounts latencies;
};

/// Failures in a row over all workers, two counts in one word, exact under any interleaving. A
/// success costs a load unless there is a streak to end.
class Streak {
 public:
  struct Counts {
    uint32_t local = 0;
    uint32_t server_errors = 0;
  };

  void end() {
    if (word_.load(std::memory_order_relaxed) != 0) {
      word_.store(0, std::memory_order_relaxed);
    }
  }

  /// A 5xx is an answer: it ends the local failures. Those leave the 5xx standing.
  void extend(HostResult result) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    uint64_t next = 0;
    do {
      auto counts = std::bit_cast<Counts>(word);
      if (result == HostResult::kLocalFailure) {
        ++counts.local;
      } else {
        ++counts.server_errors;
        counts.local = 0;
      }
      next = std::bit_cast<uint64_t>(counts);
    } while (!word_.compare_exchange_weak(word, next, std::memory_order_relaxed));
  }

  [[nodiscard]] Counts counts() const {
    return std::bit_cast<Counts>(word_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<uint64_t> word_{0};
};

/// What the call path reads of a host: one line. Written at ticks, but for the streak.
struct alignas(64) HotHost {
  std::atomic<uint64_t> id{0};
  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> weight{kFullWeight};
  Streak streak;
  std::unique_ptr<HostShard[]> shards;  ///< By worker. Made before the slot is first published.
};

/// What the ticking thread remembers of a host.
struct HostRecord {
  bool kept = false;         ///< A streak of it has been told of as kept.
  bool warming = false;      ///< Returned, not yet at full weight.
  uint32_t ejections = 0;    ///< The n of the next ejection, less one.
  base::Instant until{};     ///< When an ejected one returns.
  base::Instant returned{};  ///< When it last did.
  base::Instant decayed{};   ///< When `ejections` last fell.
  uint64_t retired = 0;      ///< Which retirement of the set this was; larger is later.
  uint64_t good = 0;         ///< Evidence since then: see note_evidence.
  uint64_t failures = 0;

  // Read of the shards up to the start of the interval, or its return.
  uint64_t good_read = 0;
  uint64_t failures_read = 0;
  std::array<uint32_t, LogBuckets::kCount> latencies_read{};
};

}  // namespace spillway::resilience
