#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace spillway::resilience {

/// The tunables of `rules: classic`, the breaker as resilience4j made it known. Its defaults, but
/// `open`: 30 s instead of 60 s.
struct ClassicRules {
  enum class Window : uint8_t { kCount, kTime };
  Window window = Window::kCount;
  /// Calls of a count window [1, 10 000], seconds of a time window [2, 3 600].
  uint32_t size = 100;
  /// Fewer recorded calls decide nothing; a count window takes its size when that is less.
  /// [1, 10 000].
  uint32_t min_calls = 100;
  /// Shares at which the circuit opens, each tested by itself; (0, 1].
  double failure_rate = 0.5;
  double slow_rate = 1.0;
  /// A call that took longer is slow. [1 ms, 10 min].
  base::Duration slow = std::chrono::seconds(60);
  /// Opens when the window's p99 is above; 0: no such rule. In a Guard no more than `slow`. Not in
  /// resilience4j. [1 ms, slow].
  base::Duration p99_ceiling{};
  /// Calls let through half-open. [1, 1 000]; a Guard takes 15 at most, one after the other.
  uint32_t half_open_calls = 10;

  /// How long it stays open the n-th time without having closed:
  /// min(open · growth^(n-1), open_cap) · U[1 - jitter, 1 + jitter].
  base::Duration open = std::chrono::seconds(30);  ///< [1 ms, 1 h].
  double open_growth = 1.0;                        ///< [1, 10].
  double open_jitter = 0.0;                        ///< [0, 1).
  base::Duration open_cap = std::chrono::hours(1);

  bool operator==(const ClassicRules&) const = default;
};

}  // namespace spillway::resilience
