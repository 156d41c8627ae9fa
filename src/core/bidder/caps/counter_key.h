#pragma once

#include <cstdint>

#include "base/hash.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"

namespace spillway::bidder::caps {

/// A user's part of counter_key: the same for all of his counters.
[[nodiscard]] constexpr uint64_t counter_user(const UserHash& user) {
  return base::combine64(user.high, user.low);
}

/// What a counter is found by in tables of this process; never 0. The user's hash is beyond
/// anybody's choice, so is this.
[[nodiscard]] constexpr uint64_t counter_key(uint64_t counter_user, const CapKey& key) {
  const uint64_t what = static_cast<uint64_t>(key.scope) | static_cast<uint64_t>(key.window) << 8 |
                        static_cast<uint64_t>(key.kind) << 16;
  const uint64_t hash =
      base::combine64(counter_user, base::combine64(what, static_cast<uint64_t>(key.id)));
  return hash != 0 ? hash : 1;
}

[[nodiscard]] constexpr uint64_t counter_key(const UserHash& user, const CapKey& key) {
  return counter_key(counter_user(user), key);
}

}  // namespace spillway::bidder::caps
