#pragma once

#include "base/time.h"

namespace spillway::capacity {

/// The largest gain k at which e(n+1) = e(n) − k·e(n−d) does not grow: 2·sin(π / (2·(2d + 1))) for
/// a delay of d ≥ 0 periods. d=0: 2, 1: 1, 2: 0.62, 3: 0.45, 4: 0.35, 6: 0.22.
/// Source: Levin and May, "A note on difference-delay equations", 1976.
[[nodiscard]] double max_gain(double delay_periods);

/// The largest that does not overshoot: d^d / (d+1)^(d+1). d=0: 1, 1: 0.25, 2: 0.15.
[[nodiscard]] double best_gain(double delay_periods);

/// How late a loop acts, in its periods: the longer of both delays, and half a period for readings
/// are means over one. `period` above 0.
[[nodiscard]] double delay_periods(base::Duration period, base::Duration own_delay,
                                   base::Duration mean_delay);

/// How much of max_gain may be used: the rest is for what was not measured.
inline constexpr double kGainReserve = 0.8;

/// A loop judged.
struct GainCheck {
  double delay_periods = 0;
  double gain = 0;     ///< Of the loop as it acts, whatever the law calls gain. 0: it has no loop.
  double largest = 0;  ///< max_gain of the delay.
  /// How many times the gain could be until it rings for ever; infinite without a loop.
  [[nodiscard]] double margin() const;

  [[nodiscard]] bool safe() const { return gain <= kGainReserve * largest; }
};

/// What a gain does at a mean weight: the multiplicative law's acts as it is; the additive one's
/// 100·gain·ū/w is larger the smaller the weight. Both weights above 0.
[[nodiscard]] double additive_loop_gain(double gain, double mean_utilization, double weight);

/// Tells the delay of the peers' samples as it is: a mean over about 30 periods.
/// One thread, 24 bytes.
class DelayMeter {
 public:
  explicit DelayMeter(base::Duration assumed);

  void on_age(base::Duration mean_age);

  [[nodiscard]] base::Duration mean_delay() const;

 private:
  double mean_s_;
};

}  // namespace spillway::capacity
