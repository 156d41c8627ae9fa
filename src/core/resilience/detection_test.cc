#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/call_driver_test.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

/// Answers after 200 ms, a share of them server errors.
Dependency failing(double share) {
  return [=](base::Rng& rng) {
    return Reply{.latency = 200ms,
                 .outcome = rng.uniform() < share ? Outcome::kServerError : Outcome::kOk};
  };
}

/// Seconds from the first failing call to open; 60 when it does not open in 60 s.
double detection_seconds(uint64_t seed, double rate, double share) {
  CallDriver driver(seed);
  driver.run(120s, rate, 300ms, failing(0.02));
  const auto opened = driver.until(State::kOpen, 60s, rate, 300ms, failing(share));
  return opened ? base::to_ms(*opened) / 1000 : 60;
}

struct Row {
  double rate;
  double share;
  double median_bar;  ///< The table of the design notes; 0: printed without a bar.
  int seeds;
};

TEST(Detection, MediansStayNearTheDesignTable) {
  constexpr std::array kRows{
      Row{0.5, 1.0, 10.2, 201}, Row{2, 1.0, 2.3, 401},  Row{2, 0.8, 0, 201},
      Row{2, 0.6, 8.7, 401},    Row{5, 1.0, 1.1, 401},  Row{5, 0.6, 3.7, 401},
      Row{20, 1.0, 1.2, 201},   Row{20, 0.6, 1.9, 201}, Row{200, 1.0, 1.1, 41},
      Row{200, 0.8, 0, 41},     Row{200, 0.6, 1.8, 41}, Row{1000, 1.0, 1.1, 11},
      Row{1000, 0.6, 1.8, 11},
  };
  std::printf("calls/s  bad  median s  p99 s  table\n");
  for (const Row& row : kRows) {
    std::vector<double> times;
    times.reserve(static_cast<size_t>(row.seeds));
    for (int i = 0; i < row.seeds; ++i) {
      times.push_back(detection_seconds(static_cast<uint64_t>(i) + 1, row.rate, row.share));
    }
    std::ranges::sort(times);
    const double median = times[times.size() / 2];
    std::printf("%7.1f  %.1f  %8.2f  %5.2f  %5.1f\n", row.rate, row.share, median,
                times[times.size() * 99 / 100], row.median_bar);
    if (row.median_bar > 0) {
      EXPECT_LE(median, row.median_bar * 1.1) << row.rate << "/s, " << row.share;
    }
  }
}

TEST(Detection, SteadyBadSharesDoNotTripOverSimulatedHours) {
  struct Steady {
    double rate;
    double share;
    std::chrono::hours time;
    int most;
  };

  constexpr std::array kRows{
      Steady{0.5, 0.02, 24h, 0}, Steady{0.5, 0.05, 24h, 0}, Steady{0.5, 0.10, 24h, 2},
      Steady{0.5, 0.20, 24h, 2}, Steady{5, 0.02, 24h, 0},   Steady{5, 0.05, 24h, 0},
      Steady{5, 0.10, 24h, 2},   Steady{5, 0.20, 24h, 2},   Steady{20, 0.02, 12h, 0},
      Steady{20, 0.05, 12h, 0},  Steady{20, 0.10, 12h, 1},  Steady{20, 0.20, 12h, 1},
      Steady{200, 0.05, 1h, 0},  Steady{200, 0.10, 1h, 0},  Steady{200, 0.20, 1h, 0},
  };
  for (const Steady& row : kRows) {
    CallDriver driver(99);
    driver.run(row.time, row.rate, 300ms, failing(row.share));
    EXPECT_LE(driver.opened(), row.most) << row.rate << "/s at " << row.share;
  }
}

/// Seconds of nothing but `outcome` until open; 60 when it does not open.
double seconds_of(uint64_t seed, double rate, Outcome outcome) {
  CallDriver driver(seed);
  driver.run(120s, rate, 300ms, constant(20ms));
  const auto opened = driver.until(State::kOpen, 60s, rate, 300ms, constant(20ms, outcome));
  return opened ? base::to_ms(*opened) / 1000 : 60;
}

TEST(Detection, OverloadOnEveryCallAtFiveASecondOpensInFiveSeconds) {
  std::vector<double> times;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    times.push_back(seconds_of(seed, 5, Outcome::kOverload));
  }
  std::ranges::sort(times);
  std::printf("overload at 5/s: median %.1f s, p95 %.1f s\n", times[50], times[95]);
  EXPECT_LE(times[95], 5);
}

TEST(Detection, OverloadOnLessThanHalfOfTheCallsNeverOpens) {
  CallDriver driver(3);
  driver.run(24h, 5, 300ms, [](base::Rng& rng) {
    return Reply{.latency = 20ms,
                 .outcome = rng.uniform() < 0.4 ? Outcome::kOverload : Outcome::kOk};
  });
  EXPECT_EQ(driver.opened(), 0) << driver.log.front().reason;
}

// W10
TEST(Detection, CallsThatHangAreSeenBeforeTheyTimeOut) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CallDriver driver(seed);
    driver.run(120s, 5, 10s, constant(20ms));
    const auto opened = driver.until(State::kOpen, 60s, 5, 10s, hang());
    ASSERT_TRUE(opened.has_value());
    EXPECT_LE(opened.value(), 4s) << "long before the timeout of 10 s, seed " << seed;
  }
}

// C8
TEST(Detection, FiveCallsASecondThatAllTimeOutOpenInFiveSeconds) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CallDriver driver(seed);
    driver.run(120s, 5, 300ms, constant(20ms));
    const auto opened = driver.until(State::kOpen, 60s, 5, 300ms, hang());
    ASSERT_TRUE(opened.has_value());
    EXPECT_LE(opened.value(), 5s) << "seed " << seed;
  }
}

}  // namespace
}  // namespace spillway::resilience
