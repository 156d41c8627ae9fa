#include "bidder/caps/cache.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/spin_lock.h"
#include "bidder/caps/counter_key.h"
#include "bidder/caps/tiny_lfu.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::bidder::caps {

namespace {

constexpr size_t kShards = 64;
constexpr size_t kAtOnce = 32;  ///< Keys a section.

struct Known {
  CapCounts counts;
  int64_t good_until_s = 0;
};

uint32_t slots_of(uint64_t bytes) {
  const uint64_t per_slot = TinyLfu::kBytesPerSlot + sizeof(Known);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(bytes / kShards / per_slot, 4, uint64_t{1} << 30));
}

}  // namespace

struct alignas(64) CapCache::Shard {
  explicit Shard(uint32_t slots) : places(slots), known(slots) {}

  base::SpinLock lock;
  TinyLfu places;
  std::vector<Known> known;  ///< By place.
  CapCacheCounters counts;
};

std::vector<resilience::Problem> validate(const CapCacheSettings& settings) {
  resilience::Checker check;
  check.within("bytes", settings.bytes, uint64_t{1} << 20, uint64_t{64} << 30);
  check.within("ttl_s", std::chrono::seconds(settings.ttl_s), std::chrono::seconds(1),
               std::chrono::hours(24));
  return check.take();
}

CapCache::CapCache(const CapCacheSettings& settings) : ttl_s_(settings.ttl_s) {
  if (settings.routing == Routing::kNone) {
    return;
  }
  shards_.reserve(kShards);
  for (size_t i = 0; i < kShards; ++i) {
    shards_.push_back(std::make_unique<Shard>(slots_of(settings.bytes)));
  }
}

CapCache::~CapCache() = default;

CapCache::Shard& CapCache::shard_of(const UserHash& user) const {
  return *shards_[user.high % kShards];
}

bool CapCache::find(const UserHash& user, std::span<const CapKey> keys, std::span<CapCounts> counts,
                    std::vector<uint32_t>& missing, int64_t unix_s) {
  SPILLWAY_ASSERT(counts.size() == keys.size());
  const size_t before = missing.size();
  if (!on()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      missing.push_back(static_cast<uint32_t>(i));
    }
    return keys.empty();
  }
  missing.reserve(before + keys.size());  // no allocation under the lock
  Shard& shard = shard_of(user);
  for (size_t from = 0; from < keys.size(); from += kAtOnce) {
    const size_t end = std::min(keys.size(), from + kAtOnce);
    std::array<uint64_t, kAtOnce> hashes{};
    for (size_t i = from; i < end; ++i) {
      hashes[i - from] = counter_key(user, keys[i]);
      shard.places.prefetch(hashes[i - from]);
    }
    const base::SpinSection section(shard.lock);
    const size_t misses_before = missing.size();
    for (size_t i = from; i < end; ++i) {
      const uint32_t place = shard.places.ask(hashes[i - from]);
      if (place != TinyLfu::kNone && unix_s < shard.known[place].good_until_s) {
        counts[i] = shard.known[place].counts;
      } else {
        missing.push_back(static_cast<uint32_t>(i));
      }
    }
    const size_t misses = missing.size() - misses_before;
    shard.counts.cold_misses += misses;
    shard.counts.warm_hits += end - from - misses;
  }
  return missing.size() == before;
}

void CapCache::populate(const UserHash& user, std::span<const CapKey> keys,
                        std::span<const CapCounts> counts, int64_t unix_s) {
  SPILLWAY_ASSERT(counts.size() == keys.size());
  if (!on()) {
    return;
  }
  Shard& shard = shard_of(user);
  const base::SpinSection section(shard.lock);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t key = counter_key(user, keys[i]);
    uint32_t place = shard.places.peek(key);
    if (place == TinyLfu::kNone) {
      const TinyLfu::Insertion made = shard.places.insert(key);
      shard.counts.evicted += made.evicted ? 1 : 0;
      shard.counts.rejected += made.rejected ? 1 : 0;
      place = made.slot;
      shard.known[place].counts = CapCounts{};
    }
    shard.known[place].counts.merge_max(counts[i]);
    shard.known[place].good_until_s = unix_s + ttl_s_;
    ++shard.counts.populated;
  }
}

void CapCache::win(const UserHash& user, std::span<const CapKey> keys, int64_t unix_s) {
  if (!on()) {
    return;
  }
  Shard& shard = shard_of(user);
  const base::SpinSection section(shard.lock);
  for (const CapKey& key : keys) {
    const uint32_t place = shard.places.peek(counter_key(user, key));
    if (place != TinyLfu::kNone) {
      shard.known[place].counts.add(bucket_at(key, unix_s), 1);
    }
  }
}

CapCacheCounters CapCache::counters() const {
  CapCacheCounters sum;
  for (const auto& shard : shards_) {
    const base::SpinSection section(shard->lock);
    sum.warm_hits += shard->counts.warm_hits;
    sum.cold_misses += shard->counts.cold_misses;
    sum.populated += shard->counts.populated;
    sum.evicted += shard->counts.evicted;
    sum.rejected += shard->counts.rejected;
  }
  return sum;
}

uint64_t CapCache::bytes() const {
  uint64_t sum = 0;
  for (const auto& shard : shards_) {
    sum += shard->places.bytes() + shard->known.size() * sizeof(Known);
  }
  return sum;
}

}  // namespace spillway::bidder::caps
