#include "capacity/stability.h"

#include <chrono>
#include <cmath>
#include <deque>
#include <limits>

#include <gtest/gtest.h>

#include "base/time.h"

namespace spillway::capacity {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The largest |e| in the last hundred steps of e(n+1) = e(n) − k·e(n−d) from 1.
double late_error(double gain, int delay) {
  std::deque<double> errors(static_cast<size_t>(delay) + 1, 1.0);
  double largest = 0;
  for (int step = 0; step < 4000; ++step) {
    const double next = errors.back() - gain * errors.front();
    errors.push_back(next);
    errors.pop_front();
    largest = step >= 3900 ? std::max(largest, std::abs(next)) : 0;
  }
  return largest;
}

TEST(Stability, TheLargestGainIsWhereTheLoopBeginsToGrow) {
  for (const int delay : {0, 1, 2, 3, 4, 6}) {
    EXPECT_LT(late_error(0.98 * max_gain(delay), delay), 0.1) << delay;
    EXPECT_GT(late_error(1.02 * max_gain(delay), delay), 10) << delay;
  }
}

TEST(Stability, TheFiguresOfTheStudyHold) {
  EXPECT_NEAR(max_gain(0), 2, 1e-9);
  EXPECT_NEAR(max_gain(1), 1, 1e-9);
  EXPECT_NEAR(max_gain(2), 0.62, 0.005);
  EXPECT_NEAR(max_gain(3), 0.45, 0.006);
  EXPECT_NEAR(max_gain(4), 0.35, 0.005);
  EXPECT_NEAR(best_gain(0), 1, 1e-9);
  EXPECT_NEAR(best_gain(1), 0.25, 1e-9);
  EXPECT_NEAR(best_gain(2), 0.148, 0.001);
  EXPECT_NEAR(best_gain(3), 0.105, 0.001);
}

TEST(Stability, TheBestGainDoesNotOvershoot) {
  for (const int delay : {1, 2, 4}) {
    std::deque<double> errors(static_cast<size_t>(delay) + 1, 1.0);
    for (int step = 0; step < 200; ++step) {
      errors.push_back(errors.back() - best_gain(delay) * errors.front());
      errors.pop_front();
      EXPECT_GE(errors.back(), 0);
    }
  }
}

TEST(Stability, TheDelayIsTheLongerOneAndHalfAWindow) {
  EXPECT_NEAR(delay_periods(seconds(2), milliseconds(500), seconds(2)), 1.5, 1e-9);
  EXPECT_NEAR(delay_periods(seconds(2), seconds(6), seconds(2)), 3.5, 1e-9);
}

TEST(Stability, TheAdditiveLawsLoopIsFasterTheSmallerTheWeight) {
  EXPECT_NEAR(additive_loop_gain(0.3, 0.65, 30), 0.65, 1e-9);
  EXPECT_NEAR(additive_loop_gain(0.3, 0.65, 240), 0.08125, 1e-9);
}

TEST(Stability, AMarginTellsHowMuchMoreGainWouldRing) {
  EXPECT_NEAR((GainCheck{.delay_periods = 1, .gain = 0.25, .largest = 1}).margin(), 4, 1e-9);
  EXPECT_EQ((GainCheck{}).margin(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE((GainCheck{.delay_periods = 1, .gain = 0.8, .largest = 1}).safe());
  EXPECT_FALSE((GainCheck{.delay_periods = 1, .gain = 0.81, .largest = 1}).safe());
}

TEST(DelayMeter, GoesFromWhatIsAssumedToWhatIsMeasured) {
  DelayMeter meter(seconds(2));
  EXPECT_EQ(meter.mean_delay(), seconds(2));
  for (int i = 0; i < 200; ++i) {
    meter.on_age(seconds(10));
  }
  EXPECT_NEAR(base::to_ms(meter.mean_delay()), 10'000, 50);
  meter.on_age(seconds(-100));  // A clock that is ahead: never a negative delay.
  EXPECT_GT(meter.mean_delay(), seconds(9));
}

}  // namespace
}  // namespace spillway::capacity
