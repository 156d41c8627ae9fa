#include "resilience/hierarchy.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

/// A registry and a hand-moved clock.
class Hierarchy : public testing::Test {
 protected:
  Guard& at(std::string_view key) { return registry.at(key, {.max_in_flight = 0}, now); }

  bool call(std::string_view key, Outcome outcome) {
    auto permit = at(key).admit(0, {.now = now, .offered = 300ms, .request_hash = ++hash});
    if (permit) {
      permit->finish(now, outcome);
    }
    return permit.has_value();
  }

  void pass(base::Duration time) {
    for (const base::Instant end = now + time; now < end;) {
      now += 100ms;
      registry.tick(now, log);
    }
  }

  /// Five of eight calls of `key` bad: too few for the leaf to be sure by itself.
  /// Enough for their parent, too little for either leaf by itself: no run, no rate proven.
  void half_prove_two() {
    for (int i = 0; i < 10 && node("dsp/eu").state == State::kClosed; ++i) {
      const Outcome outcome =
          i % 8 == 2 || i % 8 == 4 || i % 8 == 6 ? Outcome::kOk : Outcome::kServerError;
      call("dsp/eu/a", outcome);
      call("dsp/eu/b", outcome);
      pass(400ms);
    }
  }

  void half_prove(std::string_view key) {
    for (int i = 0; i < 8; ++i) {
      call(key, i % 8 == 2 || i % 8 == 4 || i % 8 == 6 ? Outcome::kOk : Outcome::kServerError);
      pass(300ms);
    }
  }

  State state(std::string_view key) { return at(key).peek().state; }

  Mode mode(std::string_view key) { return at(key).peek().mode; }

  void set(std::string_view key, Mode mode, base::Duration lasting = 1h) {
    ASSERT_TRUE(registry.set_mode(key, now, mode, now + lasting, "drill", log)) << key;
  }

  Registry::Node node(std::string_view key) {
    for (const Registry::Node& one : registry.nodes()) {
      if (one.key == key) {
        return one;
      }
    }
    return {};
  }

  Registry registry{1, 7};
  base::Instant now{1h};
  std::vector<Transition> log;
  uint64_t hash = 0;
};

TEST_F(Hierarchy, NamesTheParentsOfAKey) {
  EXPECT_EQ(dependency_of("dsp/eu/display"), "dsp");
  EXPECT_EQ(region_of("dsp/eu/display"), "dsp/eu");
  EXPECT_TRUE(lies_under("dsp/eu/display", "dsp"));
  EXPECT_TRUE(lies_under("dsp/eu/display", "dsp/eu"));
  EXPECT_FALSE(lies_under("dsp2/eu/display", "dsp"));
  EXPECT_FALSE(lies_under("dsp", "dsp/eu"));
}

TEST_F(Hierarchy, SettingsAreInheritedAndTheNearestLevelWins) {
  const Patches said{{"dsp", {.open_min = 1s, .qps = 10}},
                     {"dsp/eu", {.open_min = 2s}},
                     {"dsp/eu/video", {.max_in_flight = 3}},
                     {"dsp2", {.open_min = 9s}}};
  const Settings video = settings_of("dsp/eu/video", {.ramp = 7s}, said);
  EXPECT_EQ(video.open_min, 2s);
  EXPECT_EQ(video.qps, 10U);
  EXPECT_EQ(video.max_in_flight, 3U);
  EXPECT_EQ(video.ramp, 7s);
  EXPECT_EQ(settings_of("dsp/us/video", {}, said).open_min, 1s);
  EXPECT_EQ(settings_of("other/us/video", {}, said).open_min, Settings{}.open_min);
}

TEST_F(Hierarchy, AForgottenLeafGoesWithTheRegionAndTheContractItWasTheLastOf) {
  for (const auto* key : {"dsp/eu/a", "dsp/eu/b", "other/eu/a"}) {
    at(key);
  }
  registry.set_contract("other", 1);
  registry.forget("dsp/eu/a");
  EXPECT_EQ(registry.find("dsp/eu/a"), nullptr);
  EXPECT_EQ(registry.guards().size(), 2U);
  EXPECT_EQ(node("dsp/eu").leaves, 1U);
  registry.forget("other/eu/a");
  EXPECT_EQ(node("other").key, "");
  EXPECT_FALSE(registry.set_mode("other", now, Mode::kShadow, base::kNever, "drill", log));
  pass(1s);
  EXPECT_TRUE(call("dsp/eu/b", Outcome::kOk)) << "what stays goes on";
  registry.forget("other/eu/a");
  registry.forget("never/eu/a");
}

TEST_F(Hierarchy, ALeafThatComesBackBeginsAnewUnderTheOperatorsWord) {
  at("dsp/eu/a");
  for (int i = 0; i < 50; ++i) {
    call("dsp/eu/a", Outcome::kServerError);
    pass(100ms);
  }
  ASSERT_EQ(state("dsp/eu/a"), State::kOpen);
  registry.forget("dsp/eu/a");
  EXPECT_EQ(state("dsp/eu/a"), State::kClosed);
  set("dsp/eu/a", Mode::kForcedOpen);
  registry.forget("dsp/eu/a");
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kForcedOpen);
}

TEST_F(Hierarchy, TwoHalfProvenLeavesTripTheirParentAndItOpensTheThird) {
  for (const auto* key : {"dsp/eu/a", "dsp/eu/b", "dsp/eu/idle", "dsp/us/a", "other/eu/a"}) {
    at(key);
  }
  half_prove_two();
  ASSERT_EQ(node("dsp/eu").state, State::kOpen);
  EXPECT_EQ(state("dsp/eu/a"), State::kOpen);
  EXPECT_EQ(state("dsp/eu/b"), State::kOpen);
  EXPECT_EQ(state("dsp/eu/idle"), State::kOpen) << "it would have cost calls to find out";
  EXPECT_EQ(state("dsp/us/a"), State::kClosed);
  EXPECT_EQ(state("other/eu/a"), State::kClosed);
  EXPECT_EQ(log.back().rule, "parent");
  EXPECT_NE(log.back().reason.find("calls of dsp/eu bad"), std::string::npos);
}

TEST_F(Hierarchy, OneSoleBadLeafNeverTripsItsParentHoweverBad) {
  at("dsp/eu/b");
  for (int i = 0; i < 300; ++i) {
    call("dsp/eu/a", Outcome::kServerError);
    call("dsp/eu/b", Outcome::kOk);
    pass(100ms);
  }
  EXPECT_EQ(node("dsp/eu").state, State::kClosed);
  for (const Transition& moved : log) {
    EXPECT_EQ(moved.key, "dsp/eu/a");
  }
  EXPECT_FALSE(log.empty());
}

TEST_F(Hierarchy, OneBadLeafOfTwoIsUnderSixtyPerCent) {
  for (int i = 0; i < 8; ++i) {
    half_prove("dsp/eu/a");
    call("dsp/eu/b", Outcome::kOk);
  }
  EXPECT_EQ(state("dsp/eu/b"), State::kClosed);
  EXPECT_EQ(node("dsp/eu").state, State::kClosed);
}

TEST_F(Hierarchy, AParentIsLeftThroughTheProbesOfItsLeaves) {
  half_prove_two();
  ASSERT_EQ(node("dsp/eu").state, State::kOpen);
  at("dsp/eu/late");
  EXPECT_EQ(state("dsp/eu/late"), State::kOpen) << "made under an open parent";
  for (int i = 0; i < 600; ++i) {
    call("dsp/eu/a", Outcome::kOk);
    call("dsp/eu/b", Outcome::kServerError);
    pass(100ms);
  }
  EXPECT_EQ(node("dsp/eu").state, State::kClosed);
  EXPECT_EQ(state("dsp/eu/a"), State::kClosed);
  EXPECT_NE(state("dsp/eu/b"), State::kClosed) << "each leaf proves itself";
  EXPECT_TRUE(std::ranges::any_of(
      log, [](const Transition& moved) { return moved.rule == "leaf_recovered"; }));
}

TEST_F(Hierarchy, EpochsOfEveryNodeRiseByOneWithEachOfItsTransitions) {
  for (int i = 0; i < 400; ++i) {
    const Outcome outcome = i % 200 < 40 ? Outcome::kServerError : Outcome::kOk;
    call("dsp/eu/a", outcome);
    call("dsp/eu/b", outcome);
    pass(100ms);
    if (i == 100) {
      set("dsp", Mode::kForcedOpen, 2s);
    }
  }
  std::map<std::string, uint32_t> epochs;
  for (const Transition& moved : log) {
    uint32_t& last = epochs.try_emplace(moved.key, 1U).first->second;
    EXPECT_EQ(moved.epoch, ++last) << moved.key;
  }
  EXPECT_GE(epochs.size(), 3U);
}

TEST_F(Hierarchy, AnOverrideOfADependencyHoldsForEveryLeafNowAndLater) {
  at("dsp/eu/a");
  at("dsp/us/b");
  at("other/eu/a");
  set("dsp", Mode::kForcedOpen);
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kForcedOpen);
  EXPECT_FALSE(call("dsp/us/b", Outcome::kOk));
  EXPECT_FALSE(call("dsp/ap/made_later", Outcome::kOk));
  EXPECT_TRUE(call("other/eu/a", Outcome::kOk));
  EXPECT_EQ(node("dsp").override, Mode::kForcedOpen);
  set("dsp", Mode::kEnforce);
  EXPECT_EQ(mode("dsp/ap/made_later"), Mode::kEnforce);
  EXPECT_EQ(state("dsp/eu/a"), State::kRamping);
}

TEST_F(Hierarchy, TheMostRestrictiveOverrideOnALeafAndAboveItHolds) {
  at("dsp/eu/a");
  at("dsp/eu/b");
  set("dsp", Mode::kDisabled, 10min);
  set("dsp/eu", Mode::kShadow, 5min);
  set("dsp/eu/a", Mode::kForcedOpen, 1min);
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kForcedOpen);
  EXPECT_EQ(mode("dsp/eu/b"), Mode::kShadow);
  pass(61s);
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kShadow) << "its own ran out, the region's holds";
  pass(4min);
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kDisabled);
  pass(6min);
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kEnforce);
}

TEST_F(Hierarchy, ClearingALeafDoesNotClearWhatHoldsAboveIt) {
  at("dsp/eu/a");
  set("dsp/eu", Mode::kForcedOpen);
  set("dsp/eu/a", Mode::kEnforce);
  EXPECT_EQ(mode("dsp/eu/a"), Mode::kForcedOpen);
}

TEST_F(Hierarchy, AnUnknownNodeTakesNoOverride) {
  at("dsp/eu/a");
  for (const auto* key : {"nobody", "dsp/us", "dsp/eu/b", "ds", "dsp/", ""}) {
    EXPECT_FALSE(registry.set_mode(key, now, Mode::kForcedOpen, base::kNever, "drill", log)) << key;
  }
  EXPECT_TRUE(log.empty());
}

}  // namespace
}  // namespace spillway::resilience
