#include "bidder/caps/key_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "bidder/caps/window.h"

namespace spillway::bidder::caps {

namespace {

constexpr size_t kFirstSlots = 64;

uint64_t hash_of(const CapKey& key) {
  const uint64_t what = static_cast<uint64_t>(key.scope) | static_cast<uint64_t>(key.window) << 8 |
                        static_cast<uint64_t>(key.kind) << 16;
  return base::mix64(static_cast<uint64_t>(key.id) ^ what << 40);
}

}  // namespace

void KeySet::clear() {
  keys_.clear();
  if (++round_ == 0) {
    std::ranges::fill(slots_, Slot{});
    round_ = 1;
  }
}

KeySet::Slot& KeySet::slot_of(const CapKey& key) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash_of(key) & mask;
  while (slots_[at].round == round_ && !keys_[slots_[at].number].same_counter(key)) {
    at = (at + 1) & mask;
  }
  return slots_[at];
}

void KeySet::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), Slot{});
  round_ = 1;
  for (uint32_t i = 0; i < keys_.size(); ++i) {
    slot_of(keys_[i]) = {.round = round_, .number = i};
  }
}

uint32_t KeySet::add(const CapKey& key) {
  if (2 * (keys_.size() + 1) > slots_.size()) {
    grow();
  }
  Slot& slot = slot_of(key);
  if (slot.round != round_) {
    slot = {.round = round_, .number = static_cast<uint32_t>(keys_.size())};
    keys_.push_back(key);
  }
  return slot.number;
}

}  // namespace spillway::bidder::caps
