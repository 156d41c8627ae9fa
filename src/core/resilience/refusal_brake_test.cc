#include "resilience/refusal_brake.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/time.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kPeriod = 20ms;

/// A worker that would spend `full` of its time on refusals if it read all the time.
struct Refuser {
  RefusalBrake brake;
  base::Duration pause{};

  double step(double full) {
    const double reading = 1 - static_cast<double>(pause.count()) / kPeriod.count();
    const base::Duration refusing{static_cast<int64_t>(full * reading * kPeriod.count())};
    brake.on_period(kPeriod, refusing);
    pause = brake.pause_of(kPeriod);
    EXPECT_GE(pause, base::Duration::zero());
    EXPECT_LT(pause, kPeriod);
    return full * reading;
  }
};

TEST(RefusalBrake, NeverPausesWhileRefusingStaysWithinItsShare) {
  Refuser refuser;
  for (int i = 0; i < 1000; ++i) {
    refuser.step(0.30);
    EXPECT_EQ(refuser.pause, base::Duration::zero());
  }
  EXPECT_FALSE(refuser.brake.at_rest());
  refuser.step(0);
  EXPECT_TRUE(refuser.brake.at_rest());
}

TEST(RefusalBrake, BringsRefusingDownToItsShareWithinAFewPeriods) {
  for (const double full : {0.35, 0.5, 0.8, 1.0}) {
    Refuser refuser;
    double share = 0;
    for (int i = 0; i < 5; ++i) {
      share = refuser.step(full);
    }
    EXPECT_NEAR(share, 0.30, 0.01) << full;
    EXPECT_NEAR(refuser.brake.reading(), 0.30 / full, 0.01);
  }
}

TEST(RefusalBrake, ReadsInFullAgainTenPeriodsAfterTheLastRefusal) {
  Refuser refuser;
  for (int i = 0; i < 10; ++i) {
    refuser.step(1.0);
  }
  int periods = 0;
  while (!refuser.brake.at_rest()) {
    refuser.step(0);
    ++periods;
  }
  EXPECT_LE(periods, 10);
  EXPECT_EQ(refuser.pause, base::Duration::zero());
}

TEST(RefusalBrake, AlwaysReadsForATenthOfThePeriod) {
  RefusalBrake brake;
  for (int i = 0; i < 100; ++i) {
    // Refusing takes all the time, however little is read.
    brake.on_period(kPeriod, kPeriod);
    EXPECT_LE(brake.pause_of(kPeriod), kPeriod * 9 / 10);
  }
  EXPECT_DOUBLE_EQ(brake.reading(), 0.1);
}

TEST(RefusalBrake, TakesOddPeriodsForNothing) {
  RefusalBrake brake;
  brake.on_period(0ms, 5ms);
  brake.on_period(-1ms, 5ms);
  brake.on_period(kPeriod, -5ms);
  EXPECT_EQ(brake.pause_of(kPeriod), base::Duration::zero());
  EXPECT_TRUE(brake.at_rest());
  brake.on_period(kPeriod, 10 * kPeriod);
  EXPECT_LT(brake.pause_of(kPeriod), kPeriod);
}

TEST(RefusalBrake, SaysEverythingWrongInItsSettings) {
  EXPECT_TRUE(validate(BrakeSettings{}).empty());
  EXPECT_EQ(validate(BrakeSettings{.share_max = 0, .reading_min = 2}).size(), 2U);
}

}  // namespace
}  // namespace spillway::resilience
