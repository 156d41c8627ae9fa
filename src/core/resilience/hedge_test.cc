#include "resilience/hedge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};
constexpr HedgedCall::Gates kOpenGates{.circuits_closed = true, .other_host = true};

/// The end that a call must have come to.
HedgeEnd ended(const std::optional<HedgeEnd>& end) {
  EXPECT_TRUE(end);
  return end.value_or(HedgeEnd{});
}

/// A key that knows its latency (10 ms) and has made `calls` calls just before kStart.
struct Key {
  explicit Key(const HedgeSettings& settings = {}, int calls = 100)
      : hedger(settings, kStart - 1s) {
    for (int i = 0; i < calls; ++i) {
      HedgedCall call(hedger);
      (void)call.start(kStart - 1s, kStart, false);
      (void)call.on_result(kStart - 990ms, Leg::kFirst, Outcome::kOk);
    }
    before = hedger.counters();
  }

  [[nodiscard]] uint64_t blocked(HedgeBlock why) const {
    const auto at = static_cast<size_t>(why);
    return hedger.counters().blocked[at] - before.blocked[at];
  }

  Hedger hedger;
  HedgeCounters before;
};

/// A call whose timer has just fired.
struct Late {
  explicit Late(Key& key, base::Instant at = kStart) : call(key.hedger) {
    now = call.start(at, at + 100ms, false);
  }

  /// With the second leg on its way.
  static void send_second(Late& late) {
    ASSERT_TRUE(late.call.on_timer(late.now, kOpenGates));
    late.call.on_sent();
  }

  HedgedCall call;
  base::Instant now;
};

// H1
TEST(Hedge, ACallThatAnswersInTimeIsMadeOnce) {
  Key key;
  for (int i = 0; i < 10'000; ++i) {
    HedgedCall call(key.hedger);
    const base::Instant timer = call.start(kStart, kStart + 100ms, false);
    const base::Instant answered = kStart + 10ms;
    ASSERT_GT(timer, answered);
    const HedgeEnd end = ended(call.on_result(answered, Leg::kFirst, Outcome::kOk));
    EXPECT_EQ(end.winner, Leg::kFirst);
    EXPECT_EQ(end.legs[1], Outcome::kNotSent);
    EXPECT_EQ(call.on_timer(timer, kOpenGates).error(), HedgeBlock::kAnswered)
        << "a timer that lost its race";
  }
  EXPECT_EQ(key.hedger.counters().fired, 0U);
}

// H2
TEST(Hedge, AFirstLegThatFailsWithNoHedgePendingEndsTheCallAtOnce) {
  Key key;
  HedgedCall early(key.hedger);
  (void)early.start(kStart, kStart + 100ms, false);
  const HedgeEnd before_timer =
      ended(early.on_result(kStart + 1ms, Leg::kFirst, Outcome::kRefused));
  EXPECT_EQ(before_timer.outcome, Outcome::kRefused);

  Late throttled(key);
  ASSERT_FALSE(throttled.call.on_timer(throttled.now, {}));
  EXPECT_TRUE(throttled.call.on_result(throttled.now, Leg::kFirst, Outcome::kReset));

  Late second_failed(key);
  Late::send_second(second_failed);
  EXPECT_FALSE(second_failed.call.on_result(second_failed.now, Leg::kSecond, Outcome::kRefused));
  EXPECT_TRUE(second_failed.call.on_result(second_failed.now, Leg::kFirst, Outcome::kReset));

  Late no_connection(key);
  ASSERT_TRUE(no_connection.call.on_timer(no_connection.now, kOpenGates));
  EXPECT_FALSE(no_connection.call.on_result(no_connection.now, Leg::kFirst, Outcome::kReset))
      << "the second leg is about to be sent";
  const HedgeEnd end =
      ended(no_connection.call.on_result(no_connection.now, Leg::kSecond, Outcome::kNotSent));
  EXPECT_EQ(end.outcome, Outcome::kReset);
}

// H3
TEST(Hedge, AnExhaustedBudgetSuppressesTheSecondLegOnly) {
  Key key({.budget = {.share = 0, .reserve_per_s = 0}});
  Late late(key);
  EXPECT_EQ(late.call.on_timer(late.now, kOpenGates).error(), HedgeBlock::kBudget);
  EXPECT_EQ(key.blocked(HedgeBlock::kBudget), 1U);
  const HedgeEnd end = ended(late.call.on_result(late.now + 20ms, Leg::kFirst, Outcome::kOk));
  EXPECT_EQ(end.outcome, Outcome::kOk);
  EXPECT_EQ(end.winner, Leg::kFirst);
}

TEST(Hedge, TheFirstAnswerWinsAndTheLoserIsCancelled) {
  Key key;
  Late late(key);
  Late::send_second(late);
  const HedgeEnd end = ended(late.call.on_result(late.now + 2ms, Leg::kSecond, Outcome::kOk));
  EXPECT_EQ(end.outcome, Outcome::kOk);
  EXPECT_EQ(end.winner, Leg::kSecond);
  EXPECT_EQ(end.legs[0], Outcome::kCancelled);
  EXPECT_EQ(end.legs[1], Outcome::kOk);
  EXPECT_EQ(key.hedger.counters().won, 1U);
  EXPECT_FALSE(late.call.on_result(late.now + 3ms, Leg::kFirst, Outcome::kOk)) << "drained, late";
  EXPECT_FALSE(late.call.end(late.now + 3ms, Outcome::kTimeout));

  Late first_wins(key);
  Late::send_second(first_wins);
  const HedgeEnd other =
      ended(first_wins.call.on_result(first_wins.now + 1ms, Leg::kFirst, Outcome::kSlow));
  EXPECT_EQ(other.outcome, Outcome::kSlow);
  EXPECT_EQ(other.legs[1], Outcome::kCancelled);
  EXPECT_EQ(key.hedger.counters().won, 1U);
}

TEST(Hedge, AFailedLegWaitsForTheOtherAndTheBreakerHearsTheWorseOfTwoFailures) {
  Key key;
  Late saved(key);
  Late::send_second(saved);
  EXPECT_FALSE(saved.call.on_result(saved.now, Leg::kFirst, Outcome::kReset));
  EXPECT_FALSE(saved.call.on_result(saved.now, Leg::kFirst, Outcome::kOk)) << "it has settled";
  const HedgeEnd end = ended(saved.call.on_result(saved.now, Leg::kSecond, Outcome::kOk));
  EXPECT_EQ(end.outcome, Outcome::kOk);
  EXPECT_EQ(end.legs[0], Outcome::kReset) << "its host hears of it all the same";

  const auto both = [&key](Outcome first, Outcome second) {
    Late late(key, kStart + 5s);
    Late::send_second(late);
    EXPECT_FALSE(late.call.on_result(late.now, Leg::kSecond, second));
    return ended(late.call.on_result(late.now, Leg::kFirst, first)).outcome;
  };
  EXPECT_EQ(both(Outcome::kShort, Outcome::kReset), Outcome::kReset);
  EXPECT_EQ(both(Outcome::kTimeout, Outcome::kShort), Outcome::kTimeout);
  EXPECT_EQ(both(Outcome::kServerError, Outcome::kReset), Outcome::kServerError);
  EXPECT_EQ(both(Outcome::kShort, Outcome::kOverload), Outcome::kOverload);
}

TEST(Hedge, TheDriverEndsACallAtItsDeadline) {
  Key key;
  Late late(key);
  Late::send_second(late);
  const HedgeEnd end = ended(late.call.end(kStart + 100ms, Outcome::kTimeout));
  EXPECT_EQ(end.outcome, Outcome::kTimeout);
  EXPECT_FALSE(end.winner);
  EXPECT_EQ(end.legs[0], Outcome::kTimeout);
  EXPECT_EQ(end.legs[1], Outcome::kTimeout);
}

TEST(Hedge, AnUnsentLegReturnsItsTokenAndASentOneNever) {
  Key key({.budget = {.share = 0, .reserve_per_s = 1}});
  for (int i = 0; i < 100; ++i) {
    Late unsent(key);
    ASSERT_TRUE(unsent.call.on_timer(unsent.now, kOpenGates)) << i;
    if (i % 3 == 0) {
      EXPECT_EQ(ended(unsent.call.on_result(unsent.now, Leg::kFirst, Outcome::kOk)).legs[1],
                Outcome::kNotSent);
    } else if (i % 3 == 1) {
      EXPECT_FALSE(unsent.call.on_result(unsent.now, Leg::kSecond, Outcome::kNotSent));
    }  // else destroyed
  }
  EXPECT_EQ(key.hedger.counters().unsent, 100U);
  for (int i = 0; i < 10; ++i) {
    Late sent(key);
    Late::send_second(sent);
    EXPECT_TRUE(sent.call.on_result(sent.now, Leg::kFirst, Outcome::kOk));
  }
  Late one_too_many(key);
  EXPECT_EQ(one_too_many.call.on_timer(one_too_many.now, kOpenGates).error(), HedgeBlock::kBudget);
}

TEST(Hedge, EachGateBlocksAndIsCounted) {
  Key key;
  const auto timer = [&key](const HedgedCall::Gates& gates, base::Duration late_by = 0ms) {
    Late late(key, kStart + 5s);
    const auto said = late.call.on_timer(late.now + late_by, gates);
    return said ? HedgeBlock::kAnswered : said.error();
  };
  EXPECT_EQ(timer({.circuits_closed = false, .other_host = true}), HedgeBlock::kCircuit);
  EXPECT_EQ(timer({.circuits_closed = true, .shed_level = 1, .other_host = true}),
            HedgeBlock::kShed);
  EXPECT_EQ(timer({.circuits_closed = true, .other_host = false}), HedgeBlock::kNoOtherHost);
  EXPECT_EQ(timer(kOpenGates, 85ms), HedgeBlock::kTooLate) << "a timer that came late";

  HedgedCall probe(key.hedger);
  EXPECT_EQ(probe.start(kStart, kStart + 100ms, true), base::kNever);
  HedgedCall hurried(key.hedger);
  EXPECT_EQ(hurried.start(kStart, kStart + 15ms, false), base::kNever);
  Late switched_off(key);
  key.hedger.set({.enabled = false});
  EXPECT_EQ(switched_off.call.on_timer(switched_off.now, kOpenGates).error(), HedgeBlock::kOff);
  HedgedCall off(key.hedger);
  EXPECT_EQ(off.start(kStart, kStart + 100ms, false), base::kNever);

  Key fresh({}, 49);
  HedgedCall unknown(fresh.hedger);
  EXPECT_EQ(unknown.start(kStart, kStart + 100ms, false), base::kNever);
  EXPECT_EQ(fresh.blocked(HedgeBlock::kUnknownLatency), 1U);

  for (const HedgeBlock why :
       {HedgeBlock::kCircuit, HedgeBlock::kShed, HedgeBlock::kNoOtherHost, HedgeBlock::kProbe}) {
    EXPECT_EQ(key.blocked(why), 1U) << to_string(why);
  }
  EXPECT_EQ(key.blocked(HedgeBlock::kTooLate), 2U);
  EXPECT_EQ(key.blocked(HedgeBlock::kOff), 2U);
  EXPECT_EQ(key.hedger.counters().fired, 0U);
}

TEST(Hedge, AnOverloadOrAPushbackStopsHedgesForASecond) {
  Key key;
  HedgedCall refused(key.hedger);
  (void)refused.start(kStart, kStart + 100ms, false);
  EXPECT_TRUE(refused.on_result(kStart, Leg::kFirst, Outcome::kOverload));
  Late held(key, kStart + 980ms);
  EXPECT_EQ(held.call.on_timer(held.now, kOpenGates).error(), HedgeBlock::kPushback);
  Late free(key, kStart + 1s);
  EXPECT_TRUE(free.call.on_timer(free.now, kOpenGates));
  key.hedger.push_back(kStart + 2s);
  Late pushed(key, kStart + 2500ms);
  EXPECT_EQ(pushed.call.on_timer(pushed.now, kOpenGates).error(), HedgeBlock::kPushback);
}

TEST(Hedge, SettingsOutsideTheirRangesAreNamed) {
  EXPECT_TRUE(validate(HedgeSettings{}).empty());
  const auto problems = validate(HedgeSettings{
      .budget = {.share = 2, .reserve_per_s = 1}, .floor = 1us, .quantile = 1, .pushback = -1s});
  ASSERT_EQ(problems.size(), 4U);
  EXPECT_EQ(problems[0].key, "floor");
  EXPECT_EQ(problems[1].key, "quantile");
  EXPECT_EQ(problems[2].key, "pushback");
  EXPECT_EQ(problems[3].key, "budget.share");
}

TEST(Hedge, EveryBlockHasAName) {
  for (size_t i = 0; i < kHedgeBlocks; ++i) {
    EXPECT_FALSE(to_string(static_cast<HedgeBlock>(i)).empty());
  }
}

}  // namespace
}  // namespace spillway::resilience
