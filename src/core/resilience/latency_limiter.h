#pragma once

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

/// Our own law: a proportional controller of the queue in front of the dependency. With q the calls
/// that wait (LimiterSignals::queue) and a = allowed_queue(L):
///
///     q < a / 4               → L + L/10 + 1     (far from the knee; not within a minute of drops)
///     q < a                   → L + max((a − q) / 4, L/50 + 1/4)
///     q <= 1.3 a              → L stays
///     else                    → L − (q − a) / 4
///
/// q moves by one for each call beyond the knee whatever the shape of the latencies, so a gain of
/// 1/4 with a window of delay is damped (poles at 1/2).
///
/// A limit that was cut to under 0.7 of the calls that were in flight when the cutting began,
/// without the latency having come down by a tenth, is not what makes the calls wait: then it stays
/// and the new latency is learnt within the drift, until it has risen by another 15 % (then the
/// cutting begins anew) or above `max_healthy`: past that only cutting is left, and the slow calls
/// trip the breaker.
///
/// Differs from L(1 − base/p50) of the notes: docs/adr/0004 says why.
class LatencyLimiter : public WindowedLimiter {
 public:
  using WindowedLimiter::WindowedLimiter;

 protected:
  double next(const LimiterSignals& signals) override;

 private:
  double cut(const LimiterSignals& signals, double wanted);

  double began_in_flight_ = 0;  ///< When the cutting began; 0: none under way.
  double began_median_ns_ = 0;  ///< The most since then.
  int settled_ = 0;             ///< Windows since enough was cut.
};

}  // namespace spillway::resilience
