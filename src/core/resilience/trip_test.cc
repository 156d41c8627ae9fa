#include "resilience/trip.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/wilson.h"
#include "resilience/window.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

Evidence spread(uint64_t bad, uint64_t calls) {
  return {.calls = calls, .bad = bad, .spread = true};
}

TEST(Wilson, AgreesWithValuesComputedByHand) {
  EXPECT_NEAR(wilson_lower_bound(5, 5, 3.0), 5.0 / 14.0, 1e-12);
  EXPECT_NEAR(wilson_lower_bound(10, 20, 1.96), 0.2993, 1e-4);
  EXPECT_NEAR(wilson_lower_bound(0, 20, 3.0), 0.0, 1e-12);
  EXPECT_EQ(wilson_lower_bound(0, 0, 3.0), 0.0);
  EXPECT_LT(wilson_lower_bound(600, 1000, 3.0), 0.6);
}

TEST(Trip, R1NeedsTwentyCallsHalfOfThemBadAndCertainty) {
  EXPECT_TRUE(r1_fast(spread(20, 20), 0.3));
  EXPECT_FALSE(r1_fast(spread(19, 19), 0.3));
  EXPECT_TRUE(r1_fast(spread(500, 1000), 0.3));
  EXPECT_FALSE(r1_fast(spread(499, 1000), 0.3));
  EXPECT_FALSE(r1_fast(spread(10, 20), 0.3)) << "half of twenty is not certain";
  EXPECT_FALSE(r1_fast({.calls = 100, .bad = 100, .spread = false}, 0.3)) << "one burst";
}

TEST(Trip, R2NeedsFiveCallsAndCertainty) {
  EXPECT_TRUE(r2_slow(spread(5, 5), 0.3));
  EXPECT_FALSE(r2_slow(spread(4, 4), 0.3));
  EXPECT_FALSE(r2_slow(spread(5, 8), 0.3));
  EXPECT_FALSE(r2_slow(spread(5, 5), 0.5)) << "a leaf used to 25 % bad";
}

TEST(Trip, R3WantsTwoRoundsAndForgetsARunOlderThanTenSeconds) {
  BadRun burst;
  std::vector<BadCall> together(20, {.started = kStart, .ended = kStart + 100ms});
  burst.advance(kStart + 100ms, together, base::Instant::min());
  EXPECT_FALSE(burst.trips(5));

  BadRun rounds;
  for (int i = 0; i < 5; ++i) {
    const std::vector<BadCall> one{{.started = kStart + i * 1s, .ended = kStart + i * 1s + 100ms}};
    EXPECT_FALSE(rounds.trips(5));
    rounds.advance(kStart + i * 1s + 100ms, one, base::Instant::min());
  }
  EXPECT_TRUE(rounds.trips(5));
  rounds.advance(kStart + 10200ms, {}, base::Instant::min());
  EXPECT_FALSE(rounds.trips(5));
}

TEST(Trip, AGoodCallEndsTheRunButNotWhatFailedAfterIt) {
  BadRun run;
  const std::vector<BadCall> bads{{.started = kStart, .ended = kStart + 1s},
                                  {.started = kStart + 2s, .ended = kStart + 3s}};
  run.advance(kStart + 3s, bads, kStart + 2s);
  EXPECT_EQ(run.size(), 1U);
}

TEST(Trip, TheBaselineLearnsClampsAndOutlivesAQuietHour) {
  BadRatioBaseline usual;
  EXPECT_NEAR(usual.ratio(), 0.02, 1e-9);
  EXPECT_EQ(usual.run_length(), 4U);
  base::Instant now = kStart;
  for (int i = 0; i < 3600; ++i) {
    usual.learn(now += 1s, {.good = 8, .bad = 2});
  }
  EXPECT_NEAR(usual.ratio(), 0.2, 0.005);
  EXPECT_NEAR(usual.threshold(), 0.4, 0.01);
  EXPECT_EQ(usual.run_length(), 9U);
  usual.learn(now + 1h, {.bad = 1});
  EXPECT_NEAR(usual.ratio(), 0.2, 0.05);
  for (int i = 0; i < 3600; ++i) {
    usual.learn(now += 1s, {.bad = 10});
  }
  EXPECT_EQ(usual.ratio(), 0.25);
}

TEST(Window, SlidesAndReturnsWhatSlidOut) {
  Ring<10> ring(1s);
  ring.advance(kStart);
  ring.add({.good = 3, .bad = 1});
  ring.advance(kStart + 9s);
  ring.add({.good = 1});
  EXPECT_EQ(ring.sum().good, 4U);
  EXPECT_EQ(ring.advance(kStart + 10s).good, 3U);
  EXPECT_EQ(ring.sum().good, 1U);
  ring.advance(kStart + 5s);
  EXPECT_EQ(ring.sum().good, 1U) << "time that goes back empties nothing";
  EXPECT_EQ(ring.advance(kStart + 10h).good, 1U);
  EXPECT_TRUE(ring.sum().empty());
}

TEST(Window, OneBurstOfResetsCountsOnceAndOverloadCountsBeyondHalf) {
  EXPECT_EQ(evidence_of({.good = 5, .bad = 40, .burst = 40, .reset_burst = 40}).bad, 1U);
  EXPECT_EQ(evidence_of({.good = 10, .overload = 10}).bad, 0U);
  EXPECT_EQ(evidence_of({.good = 8, .overload = 12}).bad, 2U);
  EXPECT_EQ(evidence_of({.overload = 40}).bad, 20U);
}

}  // namespace
}  // namespace spillway::resilience
