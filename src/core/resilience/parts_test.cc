#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/backoff.h"
#include "resilience/latency.h"
#include "resilience/log_buckets.h"
#include "resilience/ramp.h"
#include "resilience/rate.h"
#include "resilience/settings.h"
#include "resilience/window.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

TEST(Backoff, DoublesToItsCapWithinItsJitterAndDecaysWithHealthyTime) {
  Backoff backoff;
  base::Rng rng(1);
  base::Duration least = 1h;
  base::Duration most{};
  for (int relapse = 0; relapse < 6; ++relapse) {
    const base::Duration plain = std::min<base::Duration>(5s * (1 << relapse), 20s);
    for (int i = 0; i < 2000; ++i) {
      const base::Duration wait = backoff.draw(5s, 20s, rng);
      ASSERT_GE(wait, plain * 8 / 10);
      ASSERT_LE(wait, plain * 12 / 10);
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
    backoff.relapse();
  }
  EXPECT_LT(least, 4100ms) << "the whole range is used";
  EXPECT_GT(most, 23900ms);
  EXPECT_EQ(backoff.level(), 6U);
  backoff.healthy(59s);
  EXPECT_EQ(backoff.level(), 6U);
  backoff.healthy(1s);
  EXPECT_EQ(backoff.level(), 5U);
  backoff.healthy(1h);
  EXPECT_EQ(backoff.level(), 0U);
}

TEST(Ramp, ClimbsItsStepsAndClosesAfterTheLast) {
  Ramp ramp;
  ramp.start(kStart);
  for (size_t i = 0; i < Ramp::kSteps.size(); ++i) {
    EXPECT_EQ(ramp.ratio(), Ramp::kSteps[i]);
    const auto at = kStart + (static_cast<int64_t>(i) + 1) * 5s;
    EXPECT_EQ(ramp.advance(at - 1s, 30s, {.good = 10}, 0.02, 0.3), Ramp::Says::kGoOn);
    const auto says = ramp.advance(at, 30s, {.good = 10}, 0.02, 0.3);
    EXPECT_EQ(says, i == 5 ? Ramp::Says::kClose : Ramp::Says::kGoOn);
  }
}

TEST(Ramp, HoldsOnceThenGoesDownAndReopensWhenTheStepIsCertainlyBad) {
  Ramp ramp;
  ramp.start(kStart);
  ramp.advance(kStart + 5s, 30s, {.good = 50}, 0.02, 0.3);
  ASSERT_EQ(ramp.ratio(), 0.10);
  const Tally middling{.good = 75, .bad = 25};
  ramp.advance(kStart + 10s, 30s, middling, 0.02, 0.3);
  EXPECT_EQ(ramp.ratio(), 0.10);
  ramp.advance(kStart + 15s, 30s, middling, 0.02, 0.3);
  EXPECT_EQ(ramp.ratio(), 0.05);
  EXPECT_EQ(ramp.advance(kStart + 16s, 30s, {.bad = 9}, 0.02, 0.3), Ramp::Says::kGoOn);
  EXPECT_EQ(ramp.advance(kStart + 17s, 30s, {.bad = 1}, 0.02, 0.3), Ramp::Says::kReopen);
}

TEST(QpsContract, GivesBackWhatALaterGateRefused) {
  QpsContract contract;
  contract.set_qps(1);
  ASSERT_TRUE(contract.take(kStart));
  EXPECT_FALSE(contract.take(kStart));
  contract.give_back();
  EXPECT_TRUE(contract.take(kStart));
  EXPECT_FALSE(contract.take(kStart + 999ms));
  EXPECT_TRUE(contract.take(kStart + 1s));
}

TEST(LogBuckets, EveryDurationLiesInItsBucketAndBucketsAreNarrow) {
  base::Rng rng(3);
  for (int i = 0; i < 100'000; ++i) {
    const auto ns = static_cast<int64_t>(rng.below(uint64_t{1} << (10 + rng.below(25))));
    const size_t bucket = LogBuckets::of(base::Duration(ns));
    ASSERT_GE(static_cast<double>(ns), LogBuckets::lower_ns(bucket));
    ASSERT_LT(static_cast<double>(ns), LogBuckets::lower_ns(bucket + 1));
    if (ns > 100'000) {
      ASSERT_LE(LogBuckets::lower_ns(bucket + 1), LogBuckets::lower_ns(bucket) * 1.126);
    }
  }
  EXPECT_EQ(LogBuckets::of(-1s), 0U);
  EXPECT_EQ(LogBuckets::of(1h), LogBuckets::kCount - 1);
}

class Baselines : public testing::Test {
 protected:
  void second(base::Duration latency, uint32_t count, bool healthy,
              base::Duration offered = 100ms) {
    baseline_.add_latency(LogBuckets::of(latency), count);
    baseline_.add_offered(LogBuckets::of(offered), count);
    baseline_.update(now_ += 1s, healthy);
  }

  LatencyBaseline baseline_;
  base::Instant now_ = kStart;
};

TEST_F(Baselines, AreKnownFromFiftyLatenciesOn) {
  second(60ms, 49, true);
  EXPECT_FALSE(baseline_.known());
  EXPECT_EQ(baseline_.fair(), 100ms);
  second(60ms, 1, true);
  EXPECT_TRUE(baseline_.known());
  EXPECT_NEAR(base::to_ms(baseline_.p50()), 60, 4);
  EXPECT_LT(baseline_.fair(), 100ms) << "1.2 p90, under 0.9 of the median budget";
}

TEST_F(Baselines, DriftTenPercentAMinuteAndStandStillInAnIncident) {
  for (int i = 0; i < 60; ++i) {
    second(60ms, 20, true);
  }
  const double before = base::to_ms(baseline_.p50());
  for (int i = 0; i < 300; ++i) {
    second(600ms, 20, false);
  }
  EXPECT_EQ(base::to_ms(baseline_.p50()), before);
  for (int i = 0; i < 60; ++i) {
    second(600ms, 20, true);
  }
  EXPECT_NEAR(base::to_ms(baseline_.p50()), before * 1.1, before * 0.01);
}

TEST_F(Baselines, ASilentLeafIsBlamedAfterTwentyCallsAndASecondAndForgivenByAnAnswer) {
  baseline_.note_silence(now_, 0, 25);
  EXPECT_EQ(baseline_.fair(), 100ms) << "answers may still be under way";
  baseline_.note_silence(now_ + 1s, 0, 1);
  EXPECT_EQ(baseline_.fair(), 0ms);
  baseline_.note_silence(now_ + 2s, 1, 3);
  EXPECT_EQ(baseline_.fair(), 100ms);
}

TEST(Settings, APatchOverlaysOnlyWhatItSays) {
  const Settings base{.open_min = 7s, .max_in_flight = 9};
  const Settings made = apply(apply(base, {.qps = 5}), {.open_min = 8s});
  EXPECT_EQ(made.open_min, 8s);
  EXPECT_EQ(made.max_in_flight, 9U);
  EXPECT_EQ(made.qps, 5U);
}

TEST(Settings, EveryBrokenRuleIsNamedAndDefaultsAreSound) {
  EXPECT_TRUE(validate(Settings{}).empty());
  const auto problems = validate({.open_min = 1ms,
                                  .open_max = 10min,
                                  .ramp = 0s,
                                  .slow_floor = 20s,
                                  .slow_ceiling = 1s,
                                  .max_in_flight = 100'001,
                                  .qps = 10'000'001,
                                  .probes_good = 7,
                                  .probes_of = 6,
                                  .probes_bad = 0});
  std::string keys;
  for (const Problem& problem : problems) {
    keys += problem.key + ' ';
  }
  EXPECT_EQ(
      keys,
      "open_min open_max ramp slow_floor slow_ceiling max_in_flight qps probes_good probes_bad ");
  EXPECT_EQ(problems[0].what, "0.001 s is not between 0.100 s and 300.0 s");
}

}  // namespace
}  // namespace spillway::resilience
