#include "capacity/weight.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace spillway::capacity {
namespace {

TEST(SentWeight, ItsRunningMeanIsTheRealWeight) {
  for (const double real : {1.2, 3.5, 29.9, 57.625, 239.99}) {
    SentWeight sent;
    double sum = 0;
    for (int tick = 1; tick <= 400; ++tick) {
      sum += sent.tick(real);
      EXPECT_LE(std::abs(sum - real * tick), 0.5 + 1e-9);
    }
  }
}

TEST(SentWeight, ItMovesByOneStepAroundTheRealWeight) {
  SentWeight sent;
  for (int tick = 0; tick < 100; ++tick) {
    const uint32_t weight = sent.tick(10.3);
    EXPECT_TRUE(weight == 10 || weight == 11) << weight;
  }
}

TEST(SentWeight, WhoeverAsksWithinATickGetsTheSameAnswer) {
  SentWeight sent;
  for (int tick = 0; tick < 10; ++tick) {
    const uint32_t weight = sent.tick(10.5);
    for (int poll = 0; poll < 5; ++poll) {
      EXPECT_EQ(sent.current(), weight);
    }
  }
}

TEST(SentWeight, ItIsNeverOutsideOneTo256AndOwesNothingForTheClamp) {
  SentWeight sent;
  for (const double real : {0.0, -5.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(sent.tick(real), 1) << real;
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(sent.tick(std::numeric_limits<double>::infinity()), 256);
  }
  EXPECT_EQ(sent.tick(100), 100);
}

TEST(Weight, ApproachesByAtMostAFactor) {
  EXPECT_NEAR(approach(100, 300, 0.3), 100 * std::exp(0.3), 1e-9);
  EXPECT_NEAR(approach(100, 10, 0.3), 100 * std::exp(-0.3), 1e-9);
  EXPECT_EQ(approach(100, 110, 0.3), 110);
}

TEST(Weight, TheLargestServerGetsTheTopAndTheOthersFollow) {
  EXPECT_EQ(anchored_mean(100, 240, 50, 100), 100);  // 2 × the mean fits.
  EXPECT_EQ(anchored_mean(100, 240, 50, 200), 60);   // 4 × the mean: 60 · 4 = 240.
  EXPECT_EQ(anchored_mean(100, 240, 50, 0), 100);    // Nobody knows.
}

}  // namespace
}  // namespace spillway::capacity
