#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bidder/caps/window.h"

namespace spillway::bidder::caps {

/// Keys of counters, each once, numbered in the order of their first coming. Reused from request to
/// request: after warm-up it allocates nothing. Ids are a catalog's own, so nobody chooses what
/// collides. One thread. Cost of add(): about one cache line.
class KeySet {
 public:
  void clear();

  /// The number of a key's counter, which is added when it is new.
  uint32_t add(const CapKey& key);

  [[nodiscard]] std::span<const CapKey> keys() const { return keys_; }

  [[nodiscard]] size_t size() const { return keys_.size(); }

 private:
  /// Taken when `round` is the set's.
  struct Slot {
    uint32_t round = 0;
    uint32_t number = 0;
  };

  [[nodiscard]] Slot& slot_of(const CapKey& key);
  void grow();

  std::vector<CapKey> keys_;
  std::vector<Slot> slots_;  ///< Open addressing; a power of two, at most half full.
  uint32_t round_ = 0;
};

}  // namespace spillway::bidder::caps
