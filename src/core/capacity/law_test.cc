#include "capacity/law.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/time.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Reading reading_of_load(double utilization, double successes_per_second) {
  return {.utilization = utilization,
          .successes_per_second = successes_per_second,
          .requests_per_second = successes_per_second,
          .window = seconds(2),
          .serving_for = minutes(10)};
}

/// One server's law, and peers that say what they are told to.
class LawTest : public ::testing::Test {
 protected:
  Law law_of(LawKind kind) {
    settings_.law = kind;
    return {settings_, {.id = "self", .zone = "a", .server_class = "c5", .cores = 8}};
  }

  void peer(const std::string& id, double capacity, double utilization,
            const std::string& server_class = "c5") {
    Sample sample;
    sample.id = id;
    sample.zone = "a";
    sample.server_class = server_class;
    sample.capacity = capacity;
    sample.utilization = utilization;
    sample.successes_per_second = capacity * utilization;
    sample.weight = 100;
    sample.sequence = ++sequence_;
    sample.taken_at = now_;
    ASSERT_TRUE(view_.put(now_, sample));
  }

  Decision step(Law& law, const Reading& reading, const Orders& orders = {}) {
    now_ += seconds(2);
    return law.step(now_, reading, orders, view_);
  }

  LawSettings settings_;
  base::Instant now_{std::chrono::hours(1)};
  ZoneView view_{{.stale_after = minutes(30), .forget_after = minutes(60)}};
  uint64_t sequence_ = 0;
};

TEST_F(LawTest, EqualAndStaticWeighWhatTheyAreTold) {
  Law equal = law_of(LawKind::kEqual);
  EXPECT_EQ(step(equal, reading_of_load(0.9, 500)).weight, 100);
  settings_.static_weight = 37;
  Law fixed = law_of(LawKind::kStatic);
  EXPECT_EQ(step(fixed, reading_of_load(0.9, 500)).weight, 37);
}

TEST_F(LawTest, TheSetPointMovesTheWeightByItsDistance) {
  Law law = law_of(LawKind::kSetpoint);
  const Decision decision = step(law, reading_of_load(0.75, 500));
  EXPECT_NEAR(decision.weight, 100 + 100 * 0.2 * (0.65 - 0.75), 1e-9);
}

TEST_F(LawTest, TheZonesMeanMovesTheWeight) {
  peer("p", 1000, 0.4);
  Law additive = law_of(LawKind::kZoneMeanAdditive);
  EXPECT_NEAR(step(additive, reading_of_load(0.6, 500)).weight, 100 + 100 * 0.2 * (0.5 - 0.6),
              1e-9);
  Law multiplicative = law_of(LawKind::kZoneMeanMultiplicative);
  EXPECT_NEAR(step(multiplicative, reading_of_load(0.6, 500)).weight,
              100 * std::pow(0.5 / 0.6, 0.2), 1e-9);
}

TEST_F(LawTest, AnIntegratingLawHoldsWithoutPeers) {
  for (const auto kind : {LawKind::kZoneMeanAdditive, LawKind::kZoneMeanMultiplicative}) {
    Law law = law_of(kind);
    const Decision decision = step(law, reading_of_load(0.9, 500));
    EXPECT_EQ(decision.weight, 100);
    EXPECT_TRUE(decision.reasons.has(Reason::kNoPeers));
  }
}

TEST_F(LawTest, CapacityWeighsByItsShareOfTheMean) {
  peer("p1", 1000, 0.5);
  peer("p2", 1000, 0.5);
  Law law = law_of(LawKind::kCapacity);
  const Decision decision = step(law, reading_of_load(0.5, 700));
  EXPECT_NEAR(decision.capacity, 1400, 1e-9);
  EXPECT_NEAR(decision.mean_capacity, 3400.0 / 3, 1e-9);
  EXPECT_NEAR(decision.weight, 100 * 1400 / (3400.0 / 3), 1e-9);
  EXPECT_TRUE(decision.reasons.empty()) << to_string(decision.reasons);
}

TEST_F(LawTest, CapacityHoldsUntilItHearsOfAPeer) {
  Law law = law_of(LawKind::kCapacity);
  const Decision decision = step(law, reading_of_load(0.5, 700));
  EXPECT_EQ(decision.weight, 100);
  EXPECT_TRUE(decision.reasons.has(Reason::kNoPeers));
}

TEST_F(LawTest, TheLargestWeighsTheTopAndIsNotClamped) {
  for (int i = 0; i < 9; ++i) {
    peer("p" + std::to_string(i), 500, 0.5, "small");
  }
  Law law = law_of(LawKind::kCapacity);
  const Decision decision = step(law, reading_of_load(0.5, 2000));
  EXPECT_NEAR(decision.weight, 240, 1e-9);
  EXPECT_TRUE(decision.reasons.has(Reason::kTopAnchor));
  EXPECT_FALSE(decision.reasons.has(Reason::kRangeClamp));
}

TEST_F(LawTest, ANewcomerBeginsWithItsClassesMedian) {
  peer("p1", 800, 0.5);
  peer("p2", 900, 0.5);
  peer("p3", 3000, 0.5, "c6");
  Law law = law_of(LawKind::kCapacity);
  const Decision decision = step(law, reading_of_load(0.01, 5));
  EXPECT_TRUE(decision.reasons.has(Reason::kPrior));
  EXPECT_NEAR(decision.weight, 100 * 850 / ((4700 + 850) / 4.0), 1e-9);
  EXPECT_EQ(decision.capacity, 0);  // A guess is not published as knowledge.
}

TEST_F(LawTest, ANewcomerOfANewClassBeginsAtTheMean) {
  peer("p3", 3000, 0.5, "c6");
  Law law = law_of(LawKind::kCapacity);
  EXPECT_NEAR(step(law, reading_of_load(0.01, 5)).weight, 100, 1e-9);
}

TEST_F(LawTest, TheRampGrowsFromAShareToAll) {
  peer("p1", 1000, 0.5);
  Law law = law_of(LawKind::kCapacity);
  Reading reading = reading_of_load(0.01, 5);
  reading.serving_for = seconds(0);
  const Decision first = step(law, reading);
  EXPECT_NEAR(first.weight, 10, 1e-9);
  EXPECT_TRUE(first.reasons.has(Reason::kRamp));
  reading.serving_for = std::chrono::milliseconds(22'500);
  EXPECT_NEAR(step(law, reading).target, 55, 1e-9);
  reading.serving_for = seconds(45);
  const Decision last = step(law, reading);
  EXPECT_NEAR(last.target, 100, 1e-9);
  EXPECT_FALSE(last.reasons.has(Reason::kRamp));
}

TEST_F(LawTest, AStepIsLimited) {
  peer("p1", 1000, 0.5);
  Law law = law_of(LawKind::kCapacity);
  step(law, reading_of_load(0.5, 500));
  law.resume(200, 1000);
  const Decision decision = step(law, reading_of_load(0.5, 501));
  EXPECT_NEAR(decision.weight, 200 * std::exp(-0.3), 1e-9);
  EXPECT_TRUE(decision.reasons.has(Reason::kStepLimit));
}

TEST_F(LawTest, TheWeightStaysWithinTheClassesBand) {
  for (int i = 0; i < 5; ++i) {
    peer("p" + std::to_string(i), 1000, 0.5);
  }
  Law law = law_of(LawKind::kCapacity);
  law.resume(100, 5000);  // Whatever it once believed.
  const Decision decision = step(law, reading_of_load(0.01, 5));
  EXPECT_TRUE(decision.reasons.has(Reason::kPriorClamp));
  EXPECT_NEAR(decision.target, 2 * decision.prior, 1e-9);
}

TEST_F(LawTest, ADeadSensorMeansThePrior) {
  peer("p1", 1000, 0.5);
  peer("p2", 1000, 0.5);
  Law law = law_of(LawKind::kCapacity);
  step(law, reading_of_load(0.5, 700));
  Reading dead = reading_of_load(0.5, 700);
  dead.sensor_alive = false;
  const Decision decision = step(law, dead);
  EXPECT_NEAR(decision.target, 100, 1e-9);
  EXPECT_TRUE(decision.reasons.has(Reason::kSensorDead));
  EXPECT_TRUE(decision.reasons.has(Reason::kPrior));
  EXPECT_FALSE(decision.sample.sensor_alive);
}

TEST_F(LawTest, ALyingSensorLosesWeightUntilItIsHonest) {
  peer("p1", 1000, 0.6);
  peer("p2", 1000, 0.6);
  Law law = law_of(LawKind::kCapacity);
  const double before = step(law, reading_of_load(0.6, 600)).weight;
  Reading lying = reading_of_load(0.1, 600);
  lying.throttled_share = 0.5;
  Decision decision;
  for (int i = 0; i < 10; ++i) {
    lying.utilization = 0.1 + 0.001 * i;
    decision = step(law, lying);
  }
  EXPECT_TRUE(decision.reasons.has(Reason::kLying));
  EXPECT_NEAR(decision.weight, before / 2, 1);
  for (int i = 0; i < 10; ++i) {
    decision = step(law, reading_of_load(0.6, 600 + i));
  }
  EXPECT_NEAR(decision.weight, before, 2);
}

TEST_F(LawTest, OrdersAreStrongerThanTheLaw) {
  peer("p1", 1000, 0.5);
  Law law = law_of(LawKind::kCapacity);
  const double weight = step(law, reading_of_load(0.5, 500)).weight;
  Decision decision = step(law, reading_of_load(0.5, 400), {.freeze = true});
  EXPECT_EQ(decision.weight, weight);
  EXPECT_TRUE(decision.reasons.has(Reason::kFrozen));
  EXPECT_EQ(decision.sample.state, ServerState::kFrozen);
  EXPECT_LT(decision.capacity, 1000);  // Estimating goes on.
  decision = step(law, reading_of_load(0.5, 400), {.pin = 17});
  EXPECT_EQ(decision.weight, 17);
  EXPECT_TRUE(decision.reasons.has(Reason::kPinned));
  decision = step(law, reading_of_load(0.5, 400), {.draining = true, .pin = 40});
  EXPECT_EQ(decision.weight, 17);
  EXPECT_EQ(decision.sample.state, ServerState::kDraining);
  decision = step(law, reading_of_load(0.5, 400), {.warming = true});
  EXPECT_EQ(decision.weight, 1);
  EXPECT_EQ(decision.sample.state, ServerState::kWarming);
  decision = step(law, reading_of_load(0.5, 400));
  EXPECT_GT(decision.weight, 50);  // From warm it goes at once; the ramp is what slows newcomers.
}

TEST_F(LawTest, WhatItPublishesIsPlausibleWhateverItRead) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const auto kind :
       {LawKind::kEqual, LawKind::kStatic, LawKind::kSetpoint, LawKind::kZoneMeanAdditive,
        LawKind::kZoneMeanMultiplicative, LawKind::kCapacity}) {
    Law law = law_of(kind);
    for (const double bad : {kNan, std::numeric_limits<double>::infinity(), -1.0, 1e300}) {
      Reading reading{.utilization = bad,
                      .successes_per_second = bad,
                      .requests_per_second = bad,
                      .failures_per_second = bad,
                      .throttled_share = bad,
                      .pressure = bad,
                      .p95_ms = bad,
                      .window = seconds(-2),
                      .serving_for = seconds(-2)};
      const Decision decision = step(law, reading);
      EXPECT_GE(decision.weight, 1) << to_string(kind) << " " << bad;
      EXPECT_LE(decision.weight, 256);
      EXPECT_TRUE(plausible(decision.sample)) << to_string(kind) << " " << bad;
    }
    const Decision after = step(law, reading_of_load(0.5, 500));
    EXPECT_TRUE(std::isfinite(after.weight)) << to_string(kind);
  }
}

TEST_F(LawTest, SequencesCountAndNamesArePassedOn) {
  Law law = law_of(LawKind::kEqual);
  EXPECT_EQ(step(law, reading_of_load(0.5, 500)).sample.sequence, 1);
  const Sample sample = step(law, reading_of_load(0.5, 500)).sample;
  EXPECT_EQ(sample.sequence, 2);
  EXPECT_EQ(sample.id, "self");
  EXPECT_EQ(sample.zone, "a");
  EXPECT_EQ(sample.server_class, "c5");
  EXPECT_EQ(sample.cores, 8);
  EXPECT_EQ(sample.taken_at, now_);
}

TEST_F(LawTest, AResizedMachineForgetsWhatItWas) {
  peer("p1", 1000, 0.5);
  peer("p2", 4000, 0.5, "big");
  Law law = law_of(LawKind::kCapacity);
  step(law, reading_of_load(0.5, 500));
  law.resize("big", 32);
  const Decision decision = step(law, reading_of_load(0.01, 5));
  EXPECT_EQ(decision.capacity, 0);
  EXPECT_NEAR(decision.target, 100 * 4000.0 / 3000, 1e-6);
  EXPECT_EQ(decision.sample.server_class, "big");
}

TEST_F(LawTest, TheSameInputsGiveTheSameDecisionsToTheLastBit) {
  peer("p1", 1000, 0.5);
  Law one = law_of(LawKind::kCapacity);
  Law two = one;
  for (int i = 0; i < 50; ++i) {
    const Reading reading = reading_of_load(0.4 + 0.003 * i, 450 + 7 * (i % 5));
    now_ += seconds(2);
    const Decision a = one.step(now_, reading, {}, view_);
    const Decision b = two.step(now_, reading, {}, view_);
    EXPECT_EQ(a.weight, b.weight);
    EXPECT_EQ(a.reasons, b.reasons);
  }
}

}  // namespace
}  // namespace spillway::capacity
