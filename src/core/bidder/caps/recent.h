#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/spin_lock.h"
#include "bidder/caps/keys.h"

namespace spillway::bidder::caps {

/// The impressions whose wins this process has counted not long ago: so that a notice sent again
/// moves no counter twice. What Redis knows of older ones, and of other instances, is its own
/// (won_key).
///
/// Two generations of at most `most` / 2 impressions each, 16 bytes an impression and half as much
/// again; the older one is dropped when the younger is full or `keep_s` old. So an impression is
/// recognised for `keep_s` at least while there are fewer than `most` / 2 in that time. No
/// allocation of its own after creation; a turn clears one generation under the lock, which is the
/// one long section (about 1 ms for a million impressions). Any thread.
class RecentImpressions {
 public:
  RecentImpressions(size_t most, int64_t keep_s);

  /// True the first time.
  [[nodiscard]] bool first_time(const Impression& impression, int64_t unix_s);

 private:
  struct Generation {
    std::vector<std::array<uint64_t, 2>> slots;  ///< Open addressing; {0, 0} is free.
    size_t used = 0;
  };

  base::SpinLock lock_;
  size_t most_each_;
  int64_t keep_s_;
  int64_t turned_s_ = 0;
  std::array<Generation, 2> generations_;
  size_t young_ = 0;
};

}  // namespace spillway::bidder::caps
