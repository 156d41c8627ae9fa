#include "capacity/capacity_estimate.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "capacity/law_settings.h"
#include "capacity/reading.h"

namespace spillway::capacity {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Reading reading_of_load(double utilization, double successes_per_second) {
  return {.utilization = utilization,
          .successes_per_second = successes_per_second,
          .requests_per_second = successes_per_second,
          .window = seconds(2),
          .serving_for = minutes(10)};
}

class Estimate : public ::testing::Test {
 protected:
  Reasons read(const Reading& reading, const ClassBand& peers = {}) {
    Reasons reasons;
    estimate_.on_reading(settings_, reading, peers, reasons);
    return reasons;
  }

  LawSettings settings_;
  CapacityEstimate estimate_;
};

TEST_F(Estimate, BeginsWithTheFirstGoodReading) {
  EXPECT_EQ(estimate_.value(), 0);
  EXPECT_TRUE(read(reading_of_load(0.5, 500)).empty());
  EXPECT_NEAR(estimate_.value(), 1000, 1e-9);
}

TEST_F(Estimate, FollowsASmallErrorSlowlyInLn) {
  read(reading_of_load(0.5, 500));
  read(reading_of_load(0.5, 540));
  EXPECT_NEAR(estimate_.value(), 1000 * std::pow(1.08, 0.1), 1e-9);
}

TEST_F(Estimate, TwoLargeErrorsToTheSameSideAreFollowedFast) {
  read(reading_of_load(0.5, 500));
  EXPECT_FALSE(read(reading_of_load(0.5, 300)).has(Reason::kBoost));
  const double after_one = estimate_.value();
  EXPECT_TRUE(read(reading_of_load(0.5, 300)).has(Reason::kBoost));
  EXPECT_NEAR(estimate_.value(), after_one * std::pow(600 / after_one, 0.6), 1e-9);
}

TEST_F(Estimate, LargeErrorsToBothSidesAreNoise) {
  read(reading_of_load(0.5, 500));
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(read(reading_of_load(0.5, i % 2 == 0 ? 400 : 620)).has(Reason::kBoost)) << i;
  }
}

TEST_F(Estimate, IsKeptWhenAReadingSaysNothing) {
  read(reading_of_load(0.5, 500));
  Reading idle = reading_of_load(0.04, 300);
  Reading few = reading_of_load(0.5, 49);
  Reading brief = reading_of_load(0.5, 900);
  brief.window = milliseconds(900);
  Reading young = reading_of_load(0.5, 900);
  young.serving_for = seconds(3);
  for (const Reading& reading : {idle, few, brief, young}) {
    EXPECT_TRUE(read(reading).has(Reason::kColdReading));
    EXPECT_NEAR(estimate_.value(), 1000, 1e-9);
  }
}

TEST_F(Estimate, NothingDoneSaysNothingWhateverTheLimits) {
  settings_.min_utilization = settings_.min_successes_per_second = 0;
  EXPECT_TRUE(read(reading_of_load(0, 0)).has(Reason::kColdReading));
  EXPECT_EQ(estimate_.value(), 0);
}

TEST_F(Estimate, FailuresCountAsUtilization) {
  Reading reading = reading_of_load(0.5, 400);
  reading.failures_per_second = 100;
  read(reading);
  EXPECT_NEAR(estimate_.value(), 400 / (0.5 + 0.2), 1e-9);
}

TEST_F(Estimate, AReadingAboveTheClassIsALie) {
  const ClassBand peers{.median = 1000};
  read(reading_of_load(0.5, 500), peers);
  EXPECT_TRUE(read(reading_of_load(0.2, 500), peers).has(Reason::kAboveClass));
  EXPECT_NEAR(estimate_.value(), 1000, 1e-9);
  EXPECT_FALSE(read(reading_of_load(0.26, 500), peers).has(Reason::kAboveClass));
}

TEST_F(Estimate, AReadingBelowTheClassCountsAsTheBandsEnd) {
  const ClassBand peers{.median = 1000};
  read(reading_of_load(0.5, 500), peers);
  for (int i = 0; i < 50; ++i) {
    read(reading_of_load(0.9 - 0.001 * i, 100), peers);
  }
  EXPECT_TRUE(read(reading_of_load(0.9, 100), peers).has(Reason::kBelowClass));
  EXPECT_NEAR(estimate_.value(), 500, 1);
}

TEST_F(Estimate, AChangeThatMeetsTheWholeClassIsFollowed) {
  const ClassBand before{.median = 1000, .reading = 1000};
  read(reading_of_load(0.5, 500), before);
  const ClassBand after{.median = 1000, .reading = 3000};  // Estimates lag, readings do not.
  EXPECT_FALSE(read(reading_of_load(0.2, 600), after).has(Reason::kAboveClass));
  EXPECT_GT(estimate_.value(), 1000);
}

class LoneEstimate : public Estimate {
 protected:
  LoneEstimate() {
    for (int i = 0; i < 10; ++i) {
      read(reading_of_load(0.5 + 0.001 * i, 500));
    }
    before_ = estimate_.value();
  }

  /// How often the reading is refused before the estimate moves.
  int refusals(const Reading& reading, const ClassBand& peers = {}) {
    const double value = estimate_.value();
    int refused = 0;
    while (estimate_.value() == value && refused < 2000 &&
           read(reading, peers).has(Reason::kAboveClass)) {
      ++refused;
    }
    return refused;
  }

  double before_ = 0;
};

TEST_F(LoneEstimate, IsHeldAgainstItselfAndBelievedStepByStepWhenItInsists) {
  EXPECT_EQ(refusals(reading_of_load(0.1, 500)), 15);
  EXPECT_NEAR(estimate_.value(), 1.25 * before_, 1);
  EXPECT_EQ(refusals(reading_of_load(0.1, 500)), 5);
  EXPECT_NEAR(estimate_.value(), 1.25 * 1.25 * before_, 1);
  for (int i = 0; i < 60; ++i) {
    read(reading_of_load(0.1 + 0.0001 * i, 500));
  }
  EXPECT_NEAR(estimate_.value(), 5000, 250);
}

TEST_F(LoneEstimate, WhatItClaimsIsTakenBackWhenItIsBusyOtherwise) {
  const ClassBand peers{.mean_utilization = 0.5, .median_p95_ms = 10};
  Reading slow = reading_of_load(0.3, 600);  // Not low enough for a lie by itself.
  slow.p95_ms = 31;
  EXPECT_FALSE(read(slow, peers).has(Reason::kLying)) << "nothing is on trial yet";
  refusals(reading_of_load(0.1, 500), peers);
  EXPECT_GT(estimate_.value(), 1.2 * before_);
  EXPECT_TRUE(read(slow, peers).has(Reason::kLying));
  EXPECT_NEAR(estimate_.value(), before_, 0.05 * before_);
  EXPECT_EQ(refusals(reading_of_load(0.1, 500), peers), 30) << "who was caught insists for longer";
  EXPECT_TRUE(read(slow, peers).has(Reason::kLying));
  EXPECT_EQ(refusals(reading_of_load(0.35, 500), peers), 60) << "and is held closer";
}

TEST_F(LoneEstimate, IsTrustedAsBeforeWhenItWasHonestForLong) {
  const ClassBand peers{.mean_utilization = 0.5, .median_p95_ms = 10};
  refusals(reading_of_load(0.1, 500), peers);
  Reading slow = reading_of_load(0.1, 500);
  slow.p95_ms = 31;
  read(slow, peers);
  for (int i = 0; i < 300; ++i) {
    read(reading_of_load(0.5 + 0.0001 * i, 500), peers);
  }
  EXPECT_EQ(refusals(reading_of_load(0.1, 500), peers), 15);
}

TEST_F(Estimate, ALowCpuIsNotBelievedWhenTheServerIsBusyOtherwise) {
  const ClassBand peers{.median = 1000, .mean_utilization = 0.6, .median_p95_ms = 10};
  read(reading_of_load(0.5, 500), peers);
  const Reading calm = reading_of_load(0.29, 300);
  EXPECT_FALSE(read(calm, peers).has(Reason::kLying));
  Reading throttled = calm;
  throttled.throttled_share = 0.2;
  Reading pressed = calm;
  pressed.pressure = 0.3;
  Reading slow = calm;
  slow.p95_ms = 31;
  const double before = estimate_.value();
  for (const Reading& reading : {throttled, pressed, slow}) {
    EXPECT_TRUE(read(reading, peers).has(Reason::kLying));
    EXPECT_EQ(estimate_.value(), before);
  }
  Reading busy = throttled;
  busy.utilization = 0.6;  // Not low: throttling is then no contradiction.
  EXPECT_FALSE(read(busy, peers).has(Reason::kLying));
}

TEST_F(Estimate, TheSameNumberWhileTheTrafficMovesIsADeadSensor) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(read(reading_of_load(0.4, 500 + 20 * i)).has(Reason::kSensorStuck)) << i;
  }
  EXPECT_TRUE(read(reading_of_load(0.4, 580)).has(Reason::kSensorStuck));
  EXPECT_FALSE(read(reading_of_load(0.41, 580)).has(Reason::kSensorStuck));
}

TEST_F(Estimate, TheSameNumberOfTheSameTrafficIsNoLie) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(read(reading_of_load(0.4, 500 + i % 2)).has(Reason::kSensorStuck));
  }
}

TEST_F(Estimate, AFullServerMayReadTheSame) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(read(reading_of_load(1, 500 + 10 * i)).has(Reason::kSensorStuck));
  }
}

TEST_F(Estimate, ADeadSensorIsSaidAndNothingLearned) {
  Reading reading = reading_of_load(0.5, 500);
  reading.sensor_alive = false;
  EXPECT_TRUE(read(reading).has(Reason::kSensorDead));
  reading.sensor_alive = true;
  reading.utilization = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(read(sound(reading)).has(Reason::kSensorDead));
  EXPECT_EQ(estimate_.value(), 0);
}

TEST(Reasons, HaveNamesForAllAndListThem) {
  Reasons reasons;
  EXPECT_EQ(to_string(reasons), "");
  reasons.add(Reason::kBoost);
  reasons.add(Reason::kStepLimit);
  EXPECT_EQ(to_string(reasons), "boost,step_limit");
  for (size_t i = 0; i < kReasons; ++i) {
    EXPECT_FALSE(to_string(static_cast<Reason>(i)).empty()) << i;
  }
  EXPECT_EQ(to_string(Reason::kCpuOnly), "cpu_only");
}

}  // namespace
}  // namespace spillway::capacity
