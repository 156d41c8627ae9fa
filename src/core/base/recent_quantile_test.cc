#include "base/recent_quantile.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/histogram.h"
#include "base/time.h"

namespace spillway::base {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1h};

void record(Histogram& histogram, int times, Duration value) {
  for (int i = 0; i < times; ++i) {
    histogram.record(value);
  }
}

double near_ms(Duration duration) { return to_ms(duration); }

TEST(RecentQuantile, ForgetsWhatCameBeforeTheLastAnswer) {
  Histogram all;
  RecentQuantile recent(1s);
  EXPECT_EQ(recent.quantile(kStart, all, 0.95), Duration::zero());
  record(all, 100, 10ms);
  EXPECT_NEAR(near_ms(recent.quantile(kStart + 1s, all, 0.95)), 10, 0.3);
  record(all, 94, 20ms);
  record(all, 6, 80ms);
  EXPECT_NEAR(near_ms(recent.quantile(kStart + 2s, all, 0.95)), 80, 2);
  EXPECT_EQ(recent.quantile(kStart + 3s, all, 0.95), Duration::zero());
}

TEST(RecentQuantile, AFrequentAskerHearsOneToTwoWindowsAndLeavesOthersTheirs) {
  Histogram all;
  RecentQuantile recent(1s);
  EXPECT_EQ(recent.quantile(kStart, all, 0.5), Duration::zero());
  record(all, 100, 10ms);
  EXPECT_NEAR(near_ms(recent.quantile(kStart + 1s, all, 0.5)), 10, 0.3);
  record(all, 300, 40ms);
  for (int i = 1; i < 10; ++i) {
    EXPECT_NEAR(near_ms(recent.quantile(kStart + 1s + i * 100ms, all, 0.5)), 40, 1) << i;
  }
  EXPECT_NEAR(near_ms(recent.quantile(kStart + 2s, all, 0.5)), 40, 1);
  EXPECT_EQ(recent.quantile(kStart + 3s, all, 0.5), Duration::zero());
}

TEST(RecentQuantile, TheFirstAnswerIsOfAllThatCame) {
  Histogram all;
  record(all, 10, 5ms);
  RecentQuantile recent(1s);
  EXPECT_NEAR(near_ms(recent.quantile(kStart, all, 0.95)), 5, 0.2);
}

}  // namespace
}  // namespace spillway::base
