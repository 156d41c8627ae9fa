#pragma once

#include <cstdint>

namespace spillway::capacity {

/// A weight as HAProxy takes it: percent of an initial weight of 100, of which it keeps 256 steps.
/// 0 would mean "no new traffic" and is never sent: that is what draining is for.
inline constexpr double kLeastWeight = 1;
inline constexpr double kMostWeight = 256;

/// `target` approached from `from` by at most a factor e^±`step`; `from` must be above 0.
[[nodiscard]] double approach(double from, double target, double step);

/// What the weights of a zone are multiplied with so that an average server weighs `mean` and the
/// largest at most `top`: min(mean, top · mean_capacity / max_capacity). Without the anchor large
/// servers would clamp at the top and the ratios, which are all that counts, be lost.
[[nodiscard]] double anchored_mean(double mean, double top, double mean_capacity,
                                   double max_capacity);

/// A real weight as whole numbers whose running mean is the real one (a first-order sigma-delta
/// modulator, error feedback): about ten times finer than rounding. It moves on only with the
/// clock, so whoever asks between two ticks gets the same answer, as two HAProxies must.
/// One thread. 24 bytes. Not copied state: a copy goes its own way.
class SentWeight {
 public:
  /// Once a tick, with the real weight. Outside 1 to 256 it is clamped; NaN counts as 1.
  uint32_t tick(double weight);

  /// What to send until the next tick, 1 to 256.
  [[nodiscard]] uint32_t current() const { return current_; }

 private:
  double owed_ = 0;  ///< Real minus sent so far: within ±0.5.
  uint32_t current_ = 100;
};

}  // namespace spillway::capacity
