#pragma once

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

/// AIMD as in Netflix's concurrency-limits, call by call:
///
///     dropped or R > 5 s  → ⌊0.9 L⌋;   else 2 I >= L → L + 1
///
/// L in [20, max], from 20. Source: shared notes on resilience 1.2.
class NetflixAimd : public Limiter {
 public:
  explicit NetflixAimd(const LimiterSettings& settings);
  void observe(const LimiterWindow& window) override;
};

/// The safe mode, window by window: the frame's drop rule is the decrease, a median above
/// `max_healthy` another (× 0.9), and the increase is max(1, 2 % of L). It knows of no queue: use
/// it for dependencies that refuse rather than wait.
class Aimd : public WindowedLimiter {
 public:
  using WindowedLimiter::WindowedLimiter;

 protected:
  double next(const LimiterSignals& signals) override;
};

}  // namespace spillway::resilience
