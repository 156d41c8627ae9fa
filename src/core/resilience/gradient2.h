#pragma once

#include <cstdint>

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

/// Gradient2 as in Netflix's concurrency-limits, call by call:
///
///     long = mean of the first 10 latencies, then long·(1 − f) + R·f with f = 2/601
///     long / R > 2   → long ·= 0.95, for the next call
///     I < L / 2      → L stays
///     g = clamp(1.5 long / R, 0.5, 1);  L' = clamp(0.8 L + 0.2 (g L + 4), 20, max)
///
/// Starts at 20; drops are ignored. Known defects, kept: the row L3 and L5 tests.
/// Source: shared notes on resilience 1.2.
class NetflixGradient2 : public Limiter {
 public:
  explicit NetflixGradient2(const LimiterSettings& settings);
  void observe(const LimiterWindow& window) override;

 private:
  double follow(double latency_ns);

  uint32_t calls_ = 0;  ///< Up to 10.
  double sum_ns_ = 0;
  double long_ns_ = 0;
};

/// The safe mode, window by window: the long latency is the uncongested one, R the window's low
/// decile, and the headroom h never makes it grow while latency is stretched:
///
///     g = clamp(1.09 R0 / R, 0.5, 1);   L' = 0.8 L + 0.2 min(g L + h, g < 0.9 ? L : ∞),
///     h = allowed_queue(L)
class Gradient2 : public WindowedLimiter {
 public:
  using WindowedLimiter::WindowedLimiter;

 protected:
  double next(const LimiterSignals& signals) override;
};

}  // namespace spillway::resilience
