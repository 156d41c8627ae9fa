#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/call_driver_test.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

constexpr base::Duration kBudget = 100ms;

struct Shape {
  double median_ms;
  double sigma;
};

/// The six latency shapes of the design notes, all asked with a budget of 100 ms.
constexpr std::array kShapes{Shape{20, 0.6}, Shape{40, 0.4}, Shape{60, 0.3},
                             Shape{60, 0.6}, Shape{75, 0.3}, Shape{85, 0.2}};

class Shapes : public testing::TestWithParam<Shape> {
 protected:
  [[nodiscard]] Dependency dependency() const {
    return lognormal(GetParam().median_ms, GetParam().sigma);
  }

  /// Past the ten minutes of warm-up.
  void warm(CallDriver& driver, double rate) const {
    driver.run(10min, rate, kBudget, dependency());
    driver.log.clear();
  }
};

TEST_P(Shapes, AHealthyOneNeverOpensInASimulatedDay) {
  CallDriver driver(5);
  warm(driver, 20);
  driver.run(24h, 20, kBudget, dependency());
  EXPECT_EQ(driver.opened(), 0) << driver.log.front().reason;
}

TEST_P(Shapes, AHealthyOneNeverOpensAtTwoHundredASecond) {
  CallDriver driver(6);
  warm(driver, 200);
  driver.run(1h, 200, kBudget, dependency());
  EXPECT_EQ(driver.opened(), 0) << driver.log.front().reason;
}

TEST_P(Shapes, AHangOpensInFiveSecondsAtFiveCallsASecondAndInTenAtTwo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const double rate : {2.0, 5.0, 20.0, 200.0}) {
      CallDriver driver(seed);
      warm(driver, rate);
      const auto opened = driver.until(State::kOpen, 60s, rate, kBudget, hang());
      ASSERT_TRUE(opened.has_value());
      // Poisson arrivals: a seed may see fewer calls than the rate says.
      EXPECT_LE(base::to_ms(opened.value()), rate < 5 ? 10'000 : 5'000)
          << rate << "/s seed " << seed;
    }
  }
}

TEST_P(Shapes, ARecoveryClosesWithinSixtySeconds) {
  for (const double rate : {20.0, 200.0}) {
    std::vector<double> times;
    for (uint64_t seed = 1; seed <= (rate > 100 ? 10 : 60); ++seed) {
      CallDriver driver(seed);
      warm(driver, rate);
      driver.until(State::kOpen, 60s, rate, kBudget, hang());
      // A minute and a bit, so that recoveries fall anywhere in a wait.
      driver.run(60s + (seed % 20) * 1s, rate, kBudget, hang());
      const auto closed = driver.until(State::kClosed, 300s, rate, kBudget, dependency());
      times.push_back(closed ? base::to_ms(*closed) / 1000 : 300);
    }
    std::ranges::sort(times);
    std::printf("%g ms, sigma %g, %g/s: recovery median %.1f s, p90 %.1f s, worst %.1f s\n",
                GetParam().median_ms, GetParam().sigma, rate, times[times.size() / 2],
                times[times.size() * 9 / 10], times.back());
    EXPECT_LE(times.back(), 60);
  }
}

TEST(TooSlowForItsBudgets, IsStillProbedAndComesBackWithinSixtySecondsOfRecovery) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    CallDriver driver(seed);
    driver.run(10min, 50, 295ms, lognormal(400, 0.3));
    const uint64_t before = driver.admitted;
    driver.run(2min, 50, 295ms, lognormal(400, 0.3));
    EXPECT_GT(driver.admitted, before) << "stuck without a call, seed " << seed;
    const base::Instant recovered = driver.now;
    driver.until(State::kClosed, 300s, 50, 295ms, lognormal(20, 0.1));
    EXPECT_LE(driver.now - recovered, 60s) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shapes, testing::ValuesIn(kShapes),
                         [](const testing::TestParamInfo<Shape>& shape) {
                           return "Median" +
                                  std::to_string(static_cast<int>(shape.param.median_ms)) +
                                  "Sigma0" +
                                  std::to_string(static_cast<int>(shape.param.sigma * 10));
                         });

}  // namespace
}  // namespace spillway::resilience
