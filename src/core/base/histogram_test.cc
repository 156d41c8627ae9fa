#include "base/histogram.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::base {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, EveryValueLiesInItsBucketAndBucketsAreNarrow) {
  Rng rng(7);
  for (int i = 0; i < 100'000; ++i) {
    const auto us = rng.below(uint64_t{1} << (1 + rng.below(26)));
    const auto bucket = Histogram::bucket_of(std::chrono::microseconds(us));
    const uint64_t low = bucket == 0 ? 0 : Histogram::upper_us(bucket - 1);
    ASSERT_GE(us, low);
    ASSERT_LT(us, Histogram::upper_us(bucket));
    if (us >= 32) {
      ASSERT_LE((Histogram::upper_us(bucket) - low) * 32, low + 32);
    }
  }
}

TEST(Histogram, QuantilesAreWithinTwoPercent) {
  Histogram histogram;
  for (int i = 1; i <= 10'000; ++i) {
    histogram.record(i * 10us);
  }
  EXPECT_NEAR(to_ms(histogram.quantile(0.5)), 50, 1);
  EXPECT_NEAR(to_ms(histogram.quantile(0.99)), 99, 2);
  EXPECT_EQ(histogram.total(), 10'000U);
}

TEST(Histogram, ValuesOutOfRangeStayCounted) {
  Histogram histogram;
  histogram.record(-1s);
  histogram.record(24h);
  EXPECT_EQ(histogram.total(), 2U);
  EXPECT_GT(histogram.quantile(1.0), 60s);
}

TEST(Histogram, AnEmptyOneHasQuantileZero) { EXPECT_EQ(Histogram().quantile(0.99), 0ns); }

}  // namespace
}  // namespace spillway::base
