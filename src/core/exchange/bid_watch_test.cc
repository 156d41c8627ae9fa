#include "exchange/bid_watch.h"

#include <chrono>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::exchange {
namespace {

using namespace std::chrono_literals;

/// A DSP asked at a steady rate, one tick a second.
class Watched {
 public:
  /// Seconds until something changes, or `limit`.
  int run(int limit, double rate, double bid_ratio, double useless_ratio = 0) {
    for (int second = 1; second <= limit; ++second) {
      owed_ += rate;
      for (; owed_ >= 1; owed_ -= 1) {
        ++sums_.answers;
        if (rng_.uniform() < bid_ratio) {
          ++sums_.bidding;
          sums_.useless += rng_.uniform() < useless_ratio ? 1 : 0;
        }
      }
      now_ += 1s;
      const size_t before = changes.size();
      watch.tick(now_, sums_, changes);
      if (changes.size() > before) {
        return second;
      }
    }
    return limit;
  }

  BidWatch watch;
  std::vector<BidAlertChange> changes;

 private:
  base::Rng rng_{3};
  base::Instant now_{1h};
  BidCounts sums_;
  double owed_ = 0;
};

TEST(BidWatch, SaysNothingOfAHealthyDspInADay) {
  Watched dsp;
  dsp.run(86'400, 20, 0.3, 0.1);
  EXPECT_TRUE(dsp.changes.empty());
}

TEST(BidWatch, SaysNothingOfADspThatNeverBids) {
  Watched dsp;
  dsp.run(3'600, 100, 0);
  EXPECT_TRUE(dsp.changes.empty());
  EXPECT_EQ(dsp.watch.bid_ratio(), 0);
}

TEST(BidWatch, RaisesACollapseOnceAndClearsItWhenBidsComeBack) {
  Watched dsp;
  dsp.run(60, 100, 0.5);
  EXPECT_LE(dsp.run(60, 100, 0), 6);
  ASSERT_EQ(dsp.changes.size(), 1U);
  EXPECT_EQ(dsp.changes[0].alert, BidAlert::kBidRateCollapse);
  EXPECT_TRUE(dsp.changes[0].raised);
  EXPECT_NEAR(dsp.changes[0].usual_ratio, 0.5, 0.05);
  EXPECT_EQ(dsp.run(3'600, 100, 0), 3'600);
  EXPECT_TRUE(dsp.watch.raised(BidAlert::kBidRateCollapse));
  EXPECT_LE(dsp.run(60, 100, 0.5), 6);
  ASSERT_EQ(dsp.changes.size(), 2U);
  EXPECT_FALSE(dsp.changes[1].raised);
  EXPECT_EQ(dsp.watch.times_raised(BidAlert::kBidRateCollapse), 1U);
}

TEST(BidWatch, SeesACollapseAtLowRatesToo) {
  Watched dsp;
  dsp.run(1'200, 2, 0.2);
  EXPECT_LE(dsp.run(600, 2, 0), 240);
  ASSERT_EQ(dsp.changes.size(), 1U);
  EXPECT_EQ(dsp.changes[0].alert, BidAlert::kBidRateCollapse);
}

TEST(BidWatch, AHalvedBidRateIsNoCollapse) {
  Watched dsp;
  dsp.run(600, 100, 0.4);
  dsp.run(600, 100, 0.2);
  EXPECT_TRUE(dsp.changes.empty());
}

TEST(BidWatch, RaisesUselessBidsAndClearsThem) {
  Watched dsp;
  dsp.run(60, 50, 0.5, 0.05);
  EXPECT_LE(dsp.run(60, 50, 0.5, 1), 6);
  ASSERT_EQ(dsp.changes.size(), 1U);
  EXPECT_EQ(dsp.changes[0].alert, BidAlert::kUselessBids);
  EXPECT_TRUE(dsp.changes[0].raised);
  EXPECT_GE(dsp.watch.useless_ratio(), 0.5);
  EXPECT_LE(dsp.run(60, 50, 0.5, 0.05), 6);
  ASSERT_EQ(dsp.changes.size(), 2U);
  EXPECT_FALSE(dsp.changes[1].raised);
}

TEST(BidWatch, AThirdOfUselessAnswersIsNoAlert) {
  Watched dsp;
  dsp.run(3'600, 50, 0.5, 0.33);
  EXPECT_TRUE(dsp.changes.empty());
}

TEST(BidWatch, EvidenceOlderThanTenMinutesIsForgotten) {
  Watched dsp;
  dsp.run(700, 0.02, 1, 1);
  dsp.run(700, 0.02, 1, 1);
  EXPECT_TRUE(dsp.changes.empty());
}

}  // namespace
}  // namespace spillway::exchange
