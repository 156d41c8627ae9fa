#include "app/balancer/effect.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "app/balancer/picture.h"
#include "app/balancer/picture_fixture.h"
#include "base/time.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using testing::add;
using testing::picture;

class EffectTest : public ::testing::Test {
 protected:
  EffectTest() {
    add(now_, "a", 50);
    add(now_, "b", 150);
  }

  /// Ten rounds of a second in which the servers are dealt so much each.
  std::optional<EffectReport> window(uint64_t a, uint64_t b, bool differs = false) {
    (void)effect_.add(now_, false, at_);
    std::optional<EffectReport> report;
    for (int i = 0; i < 10; ++i) {
      at_ += 1s;
      now_.servers["a"].stat.picked += a;
      now_.servers["b"].stat.picked += b;
      report = effect_.add(now_, differs, at_);
    }
    return report;
  }

  Effect effect_{{.window = 10s, .tolerance_ratio = 0.05, .least_requests = 500}};
  Picture now_ = picture();
  base::Instant at_{};
};

TEST_F(EffectTest, SharesByWeightAreWithinTolerance) {
  const auto report = window(25, 75);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cause, EffectCause::kNone);
  EXPECT_NEAR(report->servers.at("a").expected, 0.25, 1e-9);
  EXPECT_NEAR(report->servers.at("a").received, 0.25, 1e-9);
  EXPECT_EQ(report->picked, 1'000U);
}

TEST_F(EffectTest, LeastconnIsNamed) {
  now_.algorithm = "leastconn";
  const auto report = window(50, 50);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cause, EffectCause::kAlgorithm);
  EXPECT_NEAR(report->worst, 0.25, 1e-9);
}

TEST_F(EffectTest, PinnedConnectionsOfTcpAreSeenThoughNewOnesAreDealtWell) {
  now_.mode = "tcp";
  now_.servers["a"].stat.sessions = 500;
  now_.servers["b"].stat.sessions = 500;
  const auto report = window(0, 0);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cause, EffectCause::kPinned);
  EXPECT_NEAR(report->servers.at("a").held, 0.5, 1e-9);
}

TEST_F(EffectTest, MissedPollsAndDifferentWeightsAreNamed) {
  now_.servers["a"].stat.agent_status = "L7TOUT";
  EXPECT_EQ(window(50, 50)->cause, EffectCause::kAgentMissed);
  now_.servers["a"].stat.agent_status = "L7OK";
  EXPECT_EQ(window(50, 50, true)->cause, EffectCause::kAgentMissed);
  EXPECT_EQ(window(50, 50)->cause, EffectCause::kUnknown);
}

TEST_F(EffectTest, AWeightThatChangesInTheWindowIsFollowed) {
  (void)effect_.add(now_, false, at_);
  std::optional<EffectReport> report;
  for (int i = 0; i < 10; ++i) {
    at_ += 1s;
    const bool late = i >= 5;
    now_.servers["a"].stat.weight = late ? 150 : 50;
    now_.servers["a"].stat.picked += late ? 50 : 25;
    now_.servers["b"].stat.picked += late ? 50 : 75;
    report = effect_.add(now_, false, at_);
  }
  ASSERT_TRUE(report);
  EXPECT_LT(report->worst, 0.03);
  EXPECT_EQ(report->cause, EffectCause::kNone);
}

TEST_F(EffectTest, AServerThatIsDownIsExpectedToReceiveNothing) {
  now_.servers["a"].stat.status = "DOWN";
  const auto report = window(0, 100);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cause, EffectCause::kNone);
  EXPECT_EQ(report->servers.at("a").expected, 0);
}

TEST_F(EffectTest, FewRequestsSayNothingAndARestartBeginsAnew) {
  EXPECT_FALSE(window(10, 30));
  now_.info.pid = 101;
  now_.servers["a"].stat.picked = 0;
  now_.servers["b"].stat.picked = 0;
  const auto report = window(25, 75);
  EXPECT_TRUE(!report || report->cause == EffectCause::kNone);
}

}  // namespace
}  // namespace spillway::app::balancing
