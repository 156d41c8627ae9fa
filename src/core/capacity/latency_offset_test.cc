#include "capacity/latency_offset.h"

#include <gtest/gtest.h>

namespace spillway::capacity {
namespace {

TEST(LatencyOffset, TheChanceToWaitIsErlangsFormula) {
  EXPECT_NEAR(waiting_probability(1, 0.7), 0.7, 1e-12);      // M/M/1 waits as often as it is busy.
  EXPECT_NEAR(waiting_probability(2, 0.5), 1.0 / 3, 1e-12);  // 2ρ²/(1 + ρ) for two.
}

TEST(LatencyOffset, TheWaitsTailIsThatOfMM1ForOneCore) {
  EXPECT_NEAR(p99_wait(1, 0.5), 7.824, 0.001);  // ln(100 · 0.5) / 0.5.
  EXPECT_EQ(p99_wait(64, 0.3), 0);
}

TEST(LatencyOffset, EightCoresAt65WaitLikeSixteenAt80And32At89) {
  EXPECT_NEAR(equal_wait_utilization(8, 16, 0.80), 0.65, 0.01);
  EXPECT_NEAR(equal_wait_utilization(16, 16, 0.80), 0.80, 1e-6);
  EXPECT_NEAR(equal_wait_utilization(32, 16, 0.80), 0.89, 0.01);
}

TEST(LatencyOffset, WhereTheReferenceNeverWaitsAllAreAlike) {
  EXPECT_EQ(equal_wait_utilization(8, 64, 0.3), 0.3);
}

TEST(LatencyOffset, FractionsOfACoreCountAsOne) {
  EXPECT_GT(equal_wait_utilization(0.2, 16, 0.8), 0);
  EXPECT_EQ(equal_wait_utilization(0.2, 16, 0.8), equal_wait_utilization(1, 16, 0.8));
}

}  // namespace
}  // namespace spillway::capacity
