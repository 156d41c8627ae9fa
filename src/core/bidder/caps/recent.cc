#include "bidder/caps/recent.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/spin_lock.h"
#include "bidder/caps/keys.h"

namespace spillway::bidder::caps {

namespace {

using Hash = std::array<uint64_t, 2>;

/// Where `hash` is, or the free place where it belongs. One third of the places is always free.
Hash& place_of(std::vector<Hash>& slots, const Hash& hash) {
  size_t at = hash[0] % slots.size();
  while (slots[at] != Hash{} && slots[at] != hash) {
    at = at + 1 < slots.size() ? at + 1 : 0;
  }
  return slots[at];
}

}  // namespace

RecentImpressions::RecentImpressions(size_t most, int64_t keep_s)
    : most_each_(std::max<size_t>(1, most / 2)), keep_s_(keep_s) {
  for (Generation& generation : generations_) {
    generation.slots.resize(most_each_ + most_each_ / 2 + 1);
  }
}

bool RecentImpressions::first_time(const Impression& impression, int64_t unix_s) {
  Hash hash = hash_impression(impression);
  if (hash == Hash{}) {
    hash[0] = 1;
  }
  const base::SpinSection section(lock_);
  if (generations_[young_].used >= most_each_ || unix_s - turned_s_ >= keep_s_) {
    young_ = 1 - young_;
    std::ranges::fill(generations_[young_].slots, Hash{});
    generations_[young_].used = 0;
    turned_s_ = unix_s;
  }
  if (place_of(generations_[1 - young_].slots, hash) == hash) {
    return false;
  }
  Hash& place = place_of(generations_[young_].slots, hash);
  if (place == hash) {
    return false;
  }
  place = hash;
  ++generations_[young_].used;
  return true;
}

}  // namespace spillway::bidder::caps
