#pragma once

#include <cstdint>

#include "base/hash.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"

namespace spillway::bidder::caps {

/// What a counter is found by in tables of this process; never 0. The user's hash is beyond
/// anybody's choice, so is this.
[[nodiscard]] constexpr uint64_t counter_key(const UserHash& user, const CapKey& key) {
  const uint64_t what = static_cast<uint64_t>(key.scope) | static_cast<uint64_t>(key.window) << 8 |
                        static_cast<uint64_t>(key.kind) << 16;
  const uint64_t hash = base::combine64(base::combine64(user.high, user.low),
                                        base::combine64(what, static_cast<uint64_t>(key.id)));
  return hash != 0 ? hash : 1;
}

}  // namespace spillway::bidder::caps
