#pragma once

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

/// Vegas as in Netflix's concurrency-limits, call by call. With u = max(1, ⌊log10 L⌋), R the
/// latency, I in flight at its start:
///
///     n += 1;  n >= j·30·L   → R0 = R, n = 0, L stays
///     R0 = 0 or R < R0       → R0 = R, L stays
///     dropped                → L − u
///     2 I < L                → L stays
///     q = ⌈L (1 − R0/R)⌉:  q <= u → L + 6u;  q < 3u → L + u;  q > 6u → L − u;  else L stays
///
/// L in [1, max], from 20; j is LimiterSettings::probe_jitter. A latency of 0 is taken as 1 ns
/// (there it throws). Known defects, kept: the row L1, L2 and L4 tests. Source: shared notes on
/// resilience 1.2; Brakmo and Peterson, "TCP Vegas", 1995.
class NetflixVegas : public Limiter {
 public:
  explicit NetflixVegas(const LimiterSettings& settings);
  void observe(const LimiterWindow& window) override;

 private:
  const double probe_jitter_;
  double calls_ = 0;
  double base_ns_ = 0;
};

/// The safe mode, window by window: q by Little's law over a baseline that is never relearnt under
/// load, u as above, and no probing growth:
///
///     q < 3u → L + u;   q > 6u → L − max(u, (q − 6u) / 4);   else L stays
class Vegas : public WindowedLimiter {
 public:
  using WindowedLimiter::WindowedLimiter;

 protected:
  double next(const LimiterSignals& signals) override;
};

}  // namespace spillway::resilience
