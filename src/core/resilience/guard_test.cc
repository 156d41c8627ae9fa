#include "resilience/guard.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/call_driver_test.h"
#include "resilience/leaf_test.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {
namespace {

TEST(Guard, AHungDependencyOpensIsProbedRampsAndCloses) {
  CallDriver driver(1);
  driver.run(60s, 20, 300ms, lognormal(60, 0.3));
  EXPECT_EQ(driver.refused, 0U);
  EXPECT_NEAR(base::to_ms(driver.guard.peek().p50), 60, 5);
  ASSERT_TRUE(driver.until(State::kOpen, 5s, 5, 300ms, hang()).has_value());
  ASSERT_TRUE(driver.until(State::kClosed, 60s, 20, 300ms, lognormal(60, 0.3)).has_value());
  ASSERT_EQ(driver.log.size(), 4U);
  EXPECT_EQ(driver.log[0].rule, "r3_run");
  EXPECT_EQ(driver.log[1].rule, "open_elapsed");
  EXPECT_EQ(driver.log[2].rule, "probes_good");
  EXPECT_EQ(driver.log[3].rule, "ramp_done");
  EXPECT_NE(driver.log[0].reason.find("bad calls in a row: open for"), std::string::npos);
}

TEST(Guard, ShortBudgetsOfOnePublisherNeverOpenADependencyForTheOthers) {
  for (const double short_share : {0.1, 0.5, 0.9, 1.0}) {
    CallDriver driver(2);
    const auto budget = [=](base::Rng& rng) -> base::Duration {
      return rng.uniform() < short_share ? 20ms : 300ms;
    };
    driver.run(2h, 50, budget, lognormal(60, 0.3));
    EXPECT_EQ(driver.opened(), 0) << short_share << ": " << driver.log.front().reason;
  }
}

TEST(Guard, AMixOfBudgetsStillOpensOnAHang) {
  CallDriver driver(3);
  const auto budget = [](base::Rng& rng) -> base::Duration {
    return rng.uniform() < 0.5 ? 20ms : 300ms;
  };
  driver.run(20min, 50, budget, lognormal(60, 0.3));
  driver.run(5s, 50, budget, hang());
  EXPECT_EQ(driver.opened(), 1);
}

TEST(Guard, ALeafThatNeverAnsweredIsBlamedFromItsTwentiethSilentCallOn) {
  for (const double rate : {2.0, 20.0, 500.0}) {
    CallDriver driver(4);
    driver.run(20s, rate, 60ms, hang());
    EXPECT_GE(driver.opened(), 1) << rate;
    const Totals totals = driver.guard.totals();
    EXPECT_GE(totals.outcomes[static_cast<size_t>(Outcome::kShort)], 19U);
  }
}

TEST(Guard, ADependencyOfSixtyMillisecondsUnderABudgetOfAHundredOpensOnAHang) {
  CallDriver driver(5);
  driver.run(10min, 20, 100ms, lognormal(60, 0.3));
  EXPECT_EQ(driver.opened(), 0);
  driver.run(5s, 20, 100ms, hang());
  EXPECT_EQ(driver.opened(), 1);
}

TEST(Guard, ADependencyThatOnlyDeclinesIsNeverOpened) {
  CallDriver driver(6);
  driver.run(6h, 30, 200ms, constant(15ms));
  EXPECT_TRUE(driver.log.empty());
  EXPECT_EQ(driver.refused, 0U);
}

TEST(Guard, OneBurstOfResetsIsOneEventAtAnyRateAndAResetEveryTimeOpens) {
  for (const int burst : {5, 12, 60, 500}) {
    Leaf leaf({.max_in_flight = 0});
    std::vector<Permit> parallel;
    for (int i = 0; i < burst; ++i) {
      parallel.push_back(*leaf.admit(300ms, static_cast<uint32_t>(i) % 2));
    }
    leaf.pass(150ms);
    for (int i = 0; i < burst; ++i) {
      parallel[static_cast<size_t>(i)].finish(leaf.now, Outcome::kReset);
      leaf.pass(i % (burst / 4) == 0 ? 20ms : 0ms);
    }
    leaf.pass(15s);
    EXPECT_TRUE(leaf.log.empty()) << burst << ": " << leaf.log.front().reason;
  }
  Leaf leaf;
  leaf.calls(12, Outcome::kReset);
  EXPECT_EQ(leaf.state(), State::kOpen);
}

TEST(Guard, OverloadIsNeutralUpToHalfTheCallsAndBadBeyond) {
  for (const double share : {0.3, 0.5, 1.0}) {
    CallDriver driver(7);
    const Dependency dependency = [=](base::Rng& rng) {
      return Reply{.latency = 20ms,
                   .outcome = rng.uniform() < share ? Outcome::kOverload : Outcome::kOk};
    };
    driver.run(10min, 20, 300ms, dependency);
    EXPECT_EQ(driver.opened() > 0, share == 1.0) << share;
  }
}

TEST(Guard, ForcedOpenRefusesAllAndIsLeftThroughTheRampWhenItsTimeIsUp) {
  Leaf leaf({.ramp = 6s});
  leaf.guard.set_mode(leaf.now, Mode::kForcedOpen, leaf.now + 60s, "maintenance", leaf.log);
  for (int i = 0; i < 59; ++i) {
    EXPECT_FALSE(leaf.call(Outcome::kOk));
    leaf.pass(1s);
    ASSERT_EQ(leaf.guard.peek().mode, Mode::kForcedOpen);
  }
  leaf.pass(1500ms);
  EXPECT_EQ(leaf.state(), State::kRamping);
  EXPECT_EQ(leaf.last_rule(), "override_expired");
  EXPECT_NEAR(leaf.guard.peek().admit_ratio, 0.05, 0.001);
  leaf.calls(80, Outcome::kOk);
  EXPECT_EQ(leaf.state(), State::kClosed);
  ASSERT_EQ(leaf.log.size(), 3U);
  EXPECT_EQ(leaf.log[0].reason, "operator: maintenance");
}

TEST(Guard, ShadowDecidesAndAdmitsAll) {
  Leaf leaf({.enforcement = Settings::Enforcement::kShadow});
  leaf.calls(10, Outcome::kServerError);
  EXPECT_EQ(leaf.state(), State::kOpen);
  const auto permit = leaf.admit();
  ASSERT_TRUE(permit.has_value());
  EXPECT_EQ(permit->terms().how, Admitted::kShadow);
  const Totals totals = leaf.guard.totals();
  EXPECT_GT(totals.would_refuse[0], 0U);
  EXPECT_EQ(totals.refused[0], 0U);
}

TEST(Guard, ShadowFollowsTheStatesThatEnforcingWouldTake) {
  Leaf shadow({.enforcement = Settings::Enforcement::kShadow, .ramp = 6s});
  Leaf enforce({.ramp = 6s});
  for (Leaf* leaf : {&shadow, &enforce}) {
    leaf->calls(30, Outcome::kServerError);
    leaf->calls(200, Outcome::kOk);
  }
  ASSERT_EQ(shadow.log.size(), enforce.log.size());
  for (size_t i = 0; i < shadow.log.size(); ++i) {
    EXPECT_EQ(shadow.log[i].to_state, enforce.log[i].to_state);
    EXPECT_EQ(shadow.log[i].rule, enforce.log[i].rule);
  }
  EXPECT_EQ(shadow.state(), State::kClosed);
}

TEST(Guard, DisabledAdmitsAllCountsAndNeverMoves) {
  Leaf leaf({.max_in_flight = 1, .qps = 1});
  leaf.guard.set_mode(leaf.now, Mode::kDisabled, base::kNever, "drill", leaf.log);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(leaf.call(Outcome::kServerError));
    leaf.pass(20ms);
  }
  EXPECT_EQ(leaf.log.size(), 1U);
  EXPECT_EQ(leaf.guard.totals().outcomes[static_cast<size_t>(Outcome::kServerError)], 100U);
  leaf.guard.set_mode(leaf.now, Mode::kEnforce, base::kNever, "done", leaf.log);
  leaf.pass(3s);
  EXPECT_EQ(leaf.state(), State::kClosed) << "old errors must not count";
}

TEST(Guard, NewSettingsKeepWindowsStateAndBaselines) {
  Leaf leaf;
  leaf.calls(100, Outcome::kOk);
  const auto p50 = leaf.guard.peek().p50;
  EXPECT_GT(p50, 0ms);
  leaf.calls(3, Outcome::kServerError, 200ms);
  leaf.guard.set_settings({.open_min = 1s, .max_in_flight = 7});
  EXPECT_EQ(leaf.guard.peek().p50, p50);
  leaf.calls(2, Outcome::kServerError, 200ms);
  EXPECT_EQ(leaf.state(), State::kOpen) << "three errors before the change and two after it";
  EXPECT_LE(leaf.log.back().open_for, 1200ms);
}

TEST(Guard, AChangeOfEnforcementInTheSettingsShowsAsATransition) {
  Leaf leaf;
  leaf.guard.set_settings({.enforcement = Settings::Enforcement::kDisabled});
  leaf.pass(100ms);
  ASSERT_EQ(leaf.log.size(), 1U);
  EXPECT_EQ(leaf.log[0].rule, "settings");
  EXPECT_EQ(leaf.guard.peek().mode, Mode::kDisabled);
}

TEST(Guard, TransitionsAndEpochsAgree) {
  Leaf leaf({.ramp = 6s});
  const uint32_t first = leaf.guard.peek().epoch;
  leaf.ramping();
  leaf.calls(100, Outcome::kOk);
  for (size_t i = 0; i < leaf.log.size(); ++i) {
    EXPECT_EQ(leaf.log[i].epoch, first + i + 1);
  }
  EXPECT_EQ(leaf.guard.peek().epoch, first + leaf.log.size());
}

TEST(Guard, SkipsCallsWithLessTimeThanTheUsualLatencyButExploresSome) {
  Leaf leaf;
  for (int i = 0; i < 300; ++i) {
    leaf.call(Outcome::kOk, 60ms);
  }
  leaf.pass(2s);
  const auto median = leaf.guard.peek().median_offered;
  int explored = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto permit = leaf.admit(20ms);
    if (permit) {
      ++explored;
      EXPECT_EQ(permit->terms().how, Admitted::kExplore);
      permit->finish(leaf.now + 20ms, Outcome::kTimeout);
    } else {
      ASSERT_EQ(permit.error(), Refusal::kDeadlineTooShort);
    }
  }
  EXPECT_GE(explored, 150);
  EXPECT_LE(explored, 260);
  leaf.pass(5s);
  EXPECT_EQ(leaf.state(), State::kClosed) << "explored calls blame nobody";
  EXPECT_NEAR(base::to_ms(leaf.guard.peek().median_offered), base::to_ms(median), 1.0);
}

TEST(Guard, ExploresOnceInTenSecondsAtLeast) {
  Leaf leaf;
  for (int i = 0; i < 300; ++i) {
    leaf.call(Outcome::kOk, 60ms);
  }
  leaf.pass(2s);
  int explored = 0;
  for (int i = 0; i < 60; ++i) {
    // The same request hash each time: only the clock can let it pass.
    explored += leaf.guard.admit(0, {.now = leaf.now, .offered = 20ms, .request_hash = 1}) ? 1 : 0;
    leaf.pass(1s);
  }
  EXPECT_GE(explored, 5);
  EXPECT_LE(explored, 7);
}

TEST(Guard, TheWatchdogProbesAfterFiveMinutesWhateverTheWait) {
  Leaf leaf({.open_min = 5min, .open_max = 5min});
  base::Duration longest{};
  for (int i = 0; i < 4; ++i) {
    leaf.open();
    const base::Instant opened = leaf.now;
    while (leaf.state() == State::kOpen) {
      leaf.pass(100ms);
    }
    longest = std::max(longest, leaf.now - opened);
    leaf.guard.set_mode(leaf.now, Mode::kDisabled, base::kNever, "", leaf.log);
    leaf.guard.set_mode(leaf.now, Mode::kEnforce, base::kNever, "", leaf.log);
  }
  EXPECT_LE(longest, 5min + 100ms);
}

TEST(Guard, RampAdmissionIsAPureFunctionOfTheRequestAndDiffersBetweenLeaves) {
  Leaf leaf;
  leaf.ramping();
  int passed = 0;
  for (uint64_t hash = 0; hash < 20'000; ++hash) {
    const Attempt attempt{
        .now = leaf.now, .offered = 300ms, .request_hash = hash * 0x9e3779b97f4a7c15};
    const bool first = leaf.guard.admit(0, attempt).has_value();
    ASSERT_EQ(first, leaf.guard.admit(1, attempt).has_value());
    passed += first ? 1 : 0;
  }
  EXPECT_NEAR(passed, 1000, 100);
}

TEST(Guard, AContractedRateIsNeverExceededAndFullyUsed) {
  for (const uint32_t qps : {1U, 7U, 50U, 1000U}) {
    Leaf leaf({.max_in_flight = 0, .qps = qps});
    uint64_t passed = 0;
    for (int i = 0; i < 100'000; ++i) {
      leaf.now += 200us;
      passed += leaf.admit(300ms).has_value() ? 1 : 0;
    }
    EXPECT_LE(passed, qps * 20.1 + 1) << qps;
    EXPECT_GE(passed, qps * 20) << qps;
  }
}

TEST(Guard, EveryRefusalIsCountedOnce) {
  Leaf leaf({.qps = 10});
  uint64_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    refused += leaf.call(Outcome::kServerError, 1ms) ? 0 : 1;
    leaf.pass(10ms);
  }
  const Totals totals = leaf.guard.totals();
  EXPECT_EQ(totals.refused[0] + totals.refused[2], refused);
  EXPECT_EQ(totals.admitted[0] + totals.admitted[1] + totals.admitted[2] + refused, 1000U);
}

TEST(Registry, KeepsGuardsInPlaceAndFoldsKeysBeyondItsCapIntoOneOfTheDependency) {
  Registry registry(1, 1);
  Guard& first = registry.at("dsp/eu/display", {}, base::Instant(1h));
  for (size_t i = 1; i < Registry::kMaxLeaves; ++i) {
    registry.at("dsp/eu/p" + std::to_string(i), {}, base::Instant(1h));
  }
  EXPECT_EQ(&registry.at("dsp/eu/display", {}, base::Instant(1h)), &first);
  Guard& over = registry.at("dsp/eu/more", {}, base::Instant(1h));
  EXPECT_EQ(over.key(), "dsp/*/*");
  EXPECT_EQ(&registry.at("dsp/us/other", {}, base::Instant(1h)), &over);
  EXPECT_EQ(registry.at("elsewhere/us/x", {}, base::Instant(1h)).key(), "elsewhere/*/*");
  for (int i = 0; i < 500; ++i) {
    registry.at("dsp" + std::to_string(i) + "/us/x", {}, base::Instant(1h));
  }
  EXPECT_LE(registry.guards().size(), Registry::kMaxLeaves + 257);
  EXPECT_EQ(registry.find("nobody/eu/x"), nullptr);
}

}  // namespace
}  // namespace spillway::resilience
