#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "resilience/limiter.h"

namespace spillway::resilience {

/// The dependency's latency when nobody waits: what queues are measured from.
///
/// Follows the low decile of answers to calls that began with in-flight <= limit / 2, by a moving
/// mean (0.2 a window), upwards by at most 10 % a minute and never above `max_healthy`; down also
/// while the smoothed low decile of all answers is 5 % better. The first one is that of calls
/// that began with in-flight <= limit / 8, so that it is sound even far above the knee, or for want
/// of them of the whole first window. Nothing is probed, nothing forgotten.
class UncongestedLatency {
 public:
  explicit UncongestedLatency(base::Duration max_healthy) : max_ns_(ns(max_healthy)) {}

  /// `load_is_not_why`: all answers are taken for uncongested, within the same drift.
  void learn(const LimiterWindow& window, double smooth_low_ns, bool load_is_not_why);

  [[nodiscard]] bool known() const { return low_ns_ > 0; }

  [[nodiscard]] double low_ns() const { return low_ns_; }

 private:
  static double ns(base::Duration value) { return static_cast<double>(value.count()); }

  double max_ns_;
  double low_ns_ = 0;
};

/// How drops cut. With share s of the calls dropped and u the share of timeouts that is usual while
/// no more than half of the limit is in use (10 min memory, at most 25 %):
///
///     s > 50 %                                          → × 0.5
///     lower bound of s (z = 2) > max(5 %, 1.5 u + 5 %)  → × 0.9
///
/// A DSP whose tail is cut off by every deadline drops a fifth of its calls in good health.
class DropRule {
 public:
  [[nodiscard]] double factor(const LimiterWindow& window, double limit);

 private:
  double usual_ = 0;
  double learnt_ = 0;  ///< Windows.
};

/// What a law of a safe mode decides on.
struct LimiterSignals {
  double limit = 0;
  /// Calls that wait, by Little's law: goodput × (low decile − uncongested low decile), the low
  /// decile smoothed over windows. Equals
  /// Vegas's L(1 − R0/R) when the limit is used up, and invents no queue when it is not.
  double queue = 0;
  double stretch = 1;     ///< Low decile / uncongested low decile.
  bool harmless = false;  ///< No answer is late: queues are nobody's concern.
  bool may_grow = false;  ///< More than half in use, goodput does not fall, no drops of late.
  bool dropped = false;   ///< Drops have cut in the last minute.
  bool too_slow = false;  ///< The median is above max_healthy.
  double seconds = 0;     ///< Length of the window.
  double in_flight = 0;
  double median_ns = 0;
};

/// The common frame of the safe modes: drops cut first (DropRule, then two seconds without
/// growth); a law makes the rest out of the signals. One window never cuts by more than 30 % for
/// latency, and the limit at most doubles in five seconds.
class WindowedLimiter : public Limiter {
 public:
  explicit WindowedLimiter(const LimiterSettings& settings);

  void observe(const LimiterWindow& window) final;
  void restart() override;

  [[nodiscard]] uint32_t uncongested_most() const override {
    return uncongested_.known() ? limit() / 2 : std::max(2U, limit() / 8);
  }

 protected:
  /// The limit the law wants next.
  virtual double next(const LimiterSignals& signals) = 0;

  /// Set by a law that has seen that the calls do not wait for each other.
  bool load_is_not_why_ = false;

 private:
  [[nodiscard]] LimiterSignals signals(const LimiterWindow& window);

  const base::Duration harmless_;
  const base::Duration max_healthy_;
  UncongestedLatency uncongested_;
  DropRule drops_;
  double low_ns_ = 0;   ///< Low decile, moving mean.
  double goodput_ = 0;  ///< Answers a second, moving mean.
  double before_drops_;
  base::Instant last_cut_{};
  bool was_cut_ = false;
};

/// Queue a limit may hold for full use: a sixteenth of it, and a quarter of its root when it is
/// small.
[[nodiscard]] double allowed_queue(double limit);

}  // namespace spillway::resilience
