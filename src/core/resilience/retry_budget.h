#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace spillway::resilience {

/// How many extra attempts (retries or hedges) may be begun: counted on starts, never on ends.
///
///     allowed iff extra + 1 <= share · starts + reserve_per_s · 10, over the last 10 whole seconds
///
/// A retry that waits in back-off has been counted already, and calls that end give nothing back.
/// One thread. 10 slots of 24 bytes; a call costs one addition, an extra one sums the slots.
/// Time going back counts into the newest slot. Source: shared formula of Finagle's RetryBudget
/// (ratio, TTL 10 s, reserve), with a token for each extra attempt.
class RetryBudget {
 public:
  struct Settings {
    double share = 0.2;          ///< Of starts. Hedges use 0.05. [0, 1].
    uint32_t reserve_per_s = 1;  ///< Allowed without any starts. [0, 1 000].
  };

  explicit RetryBudget(const Settings& settings) : settings_(settings) {}

  /// A first attempt begins.
  void start(base::Instant now);

  /// An extra attempt wants to begin; false suppresses that attempt and nothing else.
  [[nodiscard]] bool take(base::Instant now);

  /// What take() gave at `taken` was never sent. No effect once that second has left the window.
  void give_back(base::Instant taken);

 private:
  struct Slot {
    int64_t second = INT64_MIN;
    uint64_t starts = 0;
    uint64_t extra = 0;
  };

  Slot& slot_at(base::Instant now);

  Settings settings_;
  std::array<Slot, 10> slots_{};
  int64_t newest_ = 0;
};

}  // namespace spillway::resilience
