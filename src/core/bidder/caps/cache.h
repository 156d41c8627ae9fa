#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "resilience/problem.h"

namespace spillway::bidder::caps {

/// How requests reach this instance: the operator has to say, because N instances that cache the
/// counts of the same user approve up to N times the cap.
enum class Routing : uint8_t {
  kNone,            ///< Not said: the cache stays off.
  kSticky,          ///< A user's requests come to one instance.
  kApproximate,     ///< They do not, and up to N times the cap is accepted.
  kSingleInstance,  ///< There is one.
};

struct CapCacheSettings {
  Routing routing = Routing::kNone;
  /// Memory. Larger: more warm users. [1 MiB, 64 GiB].
  uint64_t bytes = uint64_t{64} << 20;
  /// For how long a count read from Redis is believed. Larger: fewer reads, later news of what
  /// other instances showed. [1 s, 24 h].
  int64_t ttl_s = 600;
};

/// Every broken rule; empty when sound. A cache without a routing is no error: it is off.
[[nodiscard]] std::vector<resilience::Problem> validate(const CapCacheSettings& settings);

/// Any thread: sums over shards.
struct CapCacheCounters {
  uint64_t warm_hits = 0;    ///< Keys answered.
  uint64_t cold_misses = 0;  ///< Keys to be read from Redis, expired ones among them.
  uint64_t populated = 0;
  uint64_t evicted = 0;   ///< For want of memory.
  uint64_t rejected = 0;  ///< Of these, new ones that are asked for less than what they displace.
};

/// Counts of shown impressions as Redis has them, so that a warm user needs no read. Holds what was
/// read, merged by max, and the wins since then; an entry that expires or is evicted is forgotten
/// and nothing else: nobody is told, nothing is written. Windows roll at every look.
///
/// W-TinyLFU by (user, key): a window of 1 % in order of use, a main part in two segments, and a
/// sketch of 4-bit counts that decides who stays. 64 shards by user, each under a SpinLock, a
/// section of a few hundred nanoseconds; allocated at creation. Any thread.
/// Source: Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", 2017.
class CapCache {
 public:
  explicit CapCache(const CapCacheSettings& settings);
  CapCache(const CapCache&) = delete;
  CapCache& operator=(const CapCache&) = delete;
  ~CapCache();

  /// Fills `counts` (as long as `keys`) for what is known and returns true when that is all. Else
  /// `missing` gets the indices to read, appended.
  [[nodiscard]] bool find(const UserHash& user, std::span<const CapKey> keys,
                          std::span<CapCounts> counts, std::vector<uint32_t>& missing,
                          int64_t unix_s);

  /// What Redis said, zero counts among them.
  void populate(const UserHash& user, std::span<const CapKey> keys,
                std::span<const CapCounts> counts, int64_t unix_s);

  /// An impression was shown. A key that is not held stays unknown: its base is.
  void win(const UserHash& user, std::span<const CapKey> keys, int64_t unix_s);

  [[nodiscard]] CapCacheCounters counters() const;
  [[nodiscard]] uint64_t bytes() const;

  /// False without a routing: then nothing is kept, and every key is missing.
  [[nodiscard]] bool on() const { return !shards_.empty(); }

 private:
  struct Shard;
  [[nodiscard]] Shard& shard_of(const UserHash& user) const;

  int64_t ttl_s_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace spillway::bidder::caps
