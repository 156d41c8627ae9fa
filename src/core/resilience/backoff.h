#pragma once

#include <cstdint>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::resilience {

/// How long a breaker stays open: min(open_min · 2^k, open_max) · U[0.8, 1.2]. The level k rises
/// with each relapse and falls by one for every 60 s closed with traffic, not on one success: a
/// dependency that flaps is asked less and less often.
class Backoff {
 public:
  void relapse() { level_ = level_ < kMaxLevel ? level_ + 1 : kMaxLevel; }

  /// `spent` more time was closed with traffic.
  void healthy(base::Duration spent);

  [[nodiscard]] base::Duration draw(base::Duration min, base::Duration max, base::Rng& rng) const;

  /// wait · U[0.8, 1.2], whatever the level.
  [[nodiscard]] static base::Duration spread(base::Duration wait, base::Rng& rng);

  [[nodiscard]] uint32_t level() const { return level_; }

 private:
  static constexpr uint32_t kMaxLevel = 16;

  uint32_t level_ = 0;
  base::Duration healthy_for_{};
};

}  // namespace spillway::resilience
