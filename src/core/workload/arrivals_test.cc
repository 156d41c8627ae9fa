#include "workload/arrivals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "workload/rate_profile.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

std::vector<base::Instant> all_of(const ArrivalSettings& settings, uint64_t seed = 1,
                                  ArrivalStripe stripe = {}) {
  std::vector<base::Instant> dues;
  Arrivals arrivals(settings, kStart, seed, stripe);
  while (const auto due = arrivals.next()) {
    dues.push_back(*due);
    arrivals.pop();
  }
  return dues;
}

ptrdiff_t between(const std::vector<base::Instant>& dues, base::Duration from, base::Duration to) {
  return std::count_if(dues.begin(), dues.end(), [&](base::Instant due) {
    return due >= kStart + from && due < kStart + to;
  });
}

TEST(Arrivals, AConstantScheduleHasExactlyRateTimesDurationArrivalsEvenlySpaced) {
  const ArrivalSettings settings{.profile = RateProfile::constant(300, 10s)};
  const auto dues = all_of(settings);
  ASSERT_EQ(dues.size(), 3000);
  EXPECT_EQ(Arrivals::expected(settings), 3000);
  EXPECT_EQ(dues.front(), kStart);
  for (size_t i = 1; i < dues.size(); ++i) {
    EXPECT_NEAR(base::to_ms(dues[i] - dues[i - 1]), 1000.0 / 300, 1e-5);
  }
}

TEST(Arrivals, AConstantScheduleDoesNotDriftOverAnHour) {
  const auto dues = all_of({.profile = RateProfile::constant(7, 1h)});
  EXPECT_EQ(dues.size(), 7 * 3600);
  EXPECT_NEAR(base::to_ms(dues[7 * 1800] - kStart), 1'800'000.0, 0.001);
}

TEST(Arrivals, ARampAsksForTheAreaUnderItsLineInEverySecond) {
  const ArrivalSettings settings{.profile = RateProfile::ramp(0, 1000, 10s)};
  const auto dues = all_of(settings);
  EXPECT_EQ(dues.size(), 5000);
  for (int second = 0; second < 10; ++second) {
    EXPECT_NEAR(static_cast<double>(between(dues, second * 1s, (second + 1) * 1s)),
                100.0 * second + 50, 1);
  }
  EXPECT_TRUE(std::is_sorted(dues.begin(), dues.end()));
}

TEST(Arrivals, AFallingRampEndsAtItsLowRate) {
  const auto dues = all_of({.profile = RateProfile::ramp(1000, 0, 10s)});
  EXPECT_NEAR(static_cast<double>(dues.size()), 5000, 1);
  EXPECT_NEAR(static_cast<double>(between(dues, 9s, 10s)), 50, 1);
}

TEST(Arrivals, AStepChangesTheRateAtItsInstant) {
  const auto dues = all_of({.profile = RateProfile::step(100, 500, 4s, 10s)});
  EXPECT_EQ(between(dues, 0s, 4s), 400);
  EXPECT_EQ(between(dues, 4s, 10s), 3000);
}

TEST(Arrivals, ATraceIsFollowedFasterByItsTimeScaleAtTheSameRates) {
  constexpr auto kDay = "# seconds,rate\n0,100\n43200,300\r\n\n86400, 100\n";
  const auto day = RateProfile::parse_trace(kDay, 1);
  const auto minute = RateProfile::parse_trace(kDay, 1440);
  ASSERT_TRUE(day && minute);
  EXPECT_EQ(day->duration(), 24h);
  EXPECT_EQ(minute->duration(), 60s);
  EXPECT_DOUBLE_EQ(day->expected(), 86'400 * 200.0);
  const auto dues = all_of({.profile = *minute});
  EXPECT_EQ(dues.size(), 12'000);
  EXPECT_NEAR(static_cast<double>(between(dues, 29s, 31s)), 2 * 296.7, 2);
}

TEST(Arrivals, AnIdleStretchOfATraceHasNoArrivals) {
  const auto profile = RateProfile::parse_trace("0,10\n1,10\n1,0\n5,0\n5,10\n6,10\n", 1);
  ASSERT_TRUE(profile);
  const auto dues = all_of({.profile = *profile});
  EXPECT_EQ(between(dues, 0s, 1s), 10);
  EXPECT_EQ(between(dues, 1s, 5s), 0);
  EXPECT_EQ(between(dues, 5s, 6s), 10);
}

TEST(Arrivals, WhatIsWrongWithATraceIsSaidWithItsLine) {
  const auto line = [](const char* text) {
    const auto parsed = RateProfile::parse_trace(text, 1);
    return parsed ? -1 : parsed.error().line;
  };
  EXPECT_EQ(line("0,100\n10\n"), 2);
  EXPECT_EQ(line("0,100\nten,100\n"), 2);
  EXPECT_EQ(line("#\n0,100\n5,1\n4,1\n"), 4);
  EXPECT_EQ(line("1,100\n2,100\n"), 1);
  EXPECT_EQ(line("0,-1\n"), 1);
  EXPECT_EQ(line("0,2000000\n"), 1);
  EXPECT_EQ(line("0,1e300\n"), 1);
  EXPECT_EQ(line("0,100\n"), 0);
  EXPECT_EQ(line(""), 0);
  EXPECT_EQ(line("0,0\n10,0\n"), 0);
}

TEST(Arrivals, PoissonGapsHaveTheMeanAndTheVarianceOfAnExponential) {
  const auto dues = all_of({.profile = RateProfile::constant(1000, 200s), .poisson = true});
  double sum = 0;
  double squares = 0;
  for (size_t i = 1; i < dues.size(); ++i) {
    const double gap = base::to_ms(dues[i] - dues[i - 1]);
    sum += gap;
    squares += gap * gap;
  }
  const auto count = static_cast<double>(dues.size() - 1);
  EXPECT_NEAR(count, 200'000, 2000);
  EXPECT_NEAR(sum / count, 1.0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / count - 1.0), 1.0, 0.02);
}

TEST(Arrivals, APoissonRampFollowsItsLineToo) {
  const auto dues = all_of({.profile = RateProfile::ramp(0, 10'000, 10s), .poisson = true});
  EXPECT_NEAR(static_cast<double>(between(dues, 0s, 5s)), 12'500, 500);
  EXPECT_NEAR(static_cast<double>(between(dues, 5s, 10s)), 37'500, 900);
}

TEST(Arrivals, TheStripesOfWorkersTogetherAreTheWholeSchedule) {
  for (const bool poisson : {false, true}) {
    const ArrivalSettings settings{.profile = RateProfile::ramp(10, 900, 2s), .poisson = poisson};
    std::vector<base::Instant> merged;
    for (uint64_t worker = 0; worker < 3; ++worker) {
      const auto part = all_of(settings, 5, {.index = worker, .of = 3});
      merged.insert(merged.end(), part.begin(), part.end());
    }
    std::sort(merged.begin(), merged.end());
    EXPECT_EQ(merged, all_of(settings, 5));
  }
}

TEST(Arrivals, TheSameSeedGivesTheSameSchedule) {
  const ArrivalSettings settings{.profile = RateProfile::constant(50, 2s), .poisson = true};
  EXPECT_EQ(all_of(settings, 3), all_of(settings, 3));
  EXPECT_NE(all_of(settings, 3), all_of(settings, 4));
}

TEST(RateProfile, WhenAndCountBeforeAreInverse) {
  const RateProfile profile = RateProfile::step(100, 500, 4s, 10s);
  for (int count = 0; count < 3400; count += 17) {
    EXPECT_NEAR(profile.count_before(profile.when(count)), count, 1e-3);
  }
  EXPECT_EQ(profile.peak_rate(), 500);
  EXPECT_DOUBLE_EQ(profile.mean_rate(), 340);
}

}  // namespace
}  // namespace spillway::workload
