#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "resilience/problem.h"

namespace spillway::resilience {

/// How many extra attempts (retries or hedges) may be begun: counted on starts, never on ends.
///
///     allowed iff extra + 1 <= share · starts + 10 · reserve_per_s
///
/// over the last ten seconds, in quarters of a second: starts of the newest 40 quarters (at most
/// 10 s), extra attempts of the newest 41 (at least 10 s). So the bound is exact and needs no
/// alignment: **in any 10 s that end with an extra attempt, extra <= share · starts +
/// 10 · reserve_per_s**, and in any run of T seconds extra <= share · starts + 10 · reserve_per_s ·
/// (floor(T / 10) + 1). The price is that a steady use of the whole share gets 40/41 of it.
///
/// A retry that waits in back-off has been counted already, and calls that end give nothing back.
/// One thread. 360 bytes; a call costs an addition. Time going back counts into the newest
/// quarter. Source: shared formula of Finagle's RetryBudget (ratio, TTL 10 s, reserve), with a
/// token for each extra attempt.
class RetryBudget {
 public:
  struct Settings {
    /// Of starts. Hedges use 0.05. Larger: more load on a dependency that is in trouble. [0, 1].
    double share = 0.2;
    /// Allowed without any starts. Larger: the same at low traffic. [0, 1 000].
    uint32_t reserve_per_s = 1;
  };

  /// `settings` are sound (validate).
  explicit RetryBudget(const Settings& settings) : settings_(settings) {}

  /// Replaces the settings; what was counted stays.
  void set(const Settings& settings) { settings_ = settings; }

  /// A first attempt begins.
  void start(base::Instant now);

  /// An extra attempt wants to begin; false suppresses that attempt and nothing else.
  [[nodiscard]] bool take(base::Instant now);

  /// What take() gave at `taken` was never sent. No effect once that quarter has left the window.
  void give_back(base::Instant taken);

 private:
  static constexpr int64_t kStartQuarters = 40;
  static constexpr int64_t kQuarters = kStartQuarters + 1;

  struct Quarter {
    uint32_t starts = 0;
    uint32_t extra = 0;
  };

  void advance(base::Instant now);

  [[nodiscard]] Quarter& at(int64_t quarter) {
    return ring_[static_cast<size_t>(quarter) % kQuarters];
  }

  Settings settings_;
  std::array<Quarter, kQuarters> ring_{};
  int64_t newest_ = 0;
  uint64_t starts_ = 0;  ///< Of the newest 40.
  uint64_t extra_ = 0;   ///< Of the newest 41.
};

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<Problem> validate(const RetryBudget::Settings& settings);

}  // namespace spillway::resilience
