#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

// Faults that other breakers and limiters had in public; the row is the one of the design notes.

namespace spillway::resilience {
namespace {

TEST(Traps, B1AProbeThatEndsNeutralReturnsItsSlot) {
  Leaf leaf;
  leaf.half_open();
  for (const Outcome outcome : {Outcome::kCancelled, Outcome::kNotSent, Outcome::kShort,
                                Outcome::kRejectedByPeer, Outcome::kAbandoned}) {
    ASSERT_TRUE(leaf.call(outcome)) << to_string(outcome);
    EXPECT_FALSE(leaf.admit().has_value() && leaf.admit().has_value());
  }
  EXPECT_EQ(leaf.state(), State::kHalfOpen);
}

TEST(Traps, B2AProbeThatNeverReturnsHoldsTheSlotNoLongerThanItsLease) {
  Leaf leaf;
  leaf.half_open();
  auto lost = leaf.admit(300ms);
  ASSERT_TRUE(lost.has_value());
  EXPECT_FALSE(leaf.admit().has_value());
  leaf.now += 540ms;
  EXPECT_FALSE(leaf.admit().has_value());
  leaf.now += 20ms;
  auto next = leaf.admit();
  ASSERT_TRUE(next.has_value());
  // The lost one comes back after all: it neither decides nor frees the other's slot.
  lost->finish(leaf.now, Outcome::kServerError);
  EXPECT_FALSE(leaf.admit().has_value());
  next->finish(leaf.now, Outcome::kOk);
}

TEST(Traps, B2ARoundWhoseProbesAllVanishOpensAgainInFiveSeconds) {
  Leaf leaf;
  leaf.half_open();
  auto lost = leaf.admit();
  ASSERT_TRUE(lost.has_value());
  leaf.pass(5100ms);
  EXPECT_EQ(leaf.state(), State::kOpen);
  EXPECT_EQ(leaf.last_rule(), "probe_timeout");
}

TEST(Traps, B3EveryOutcomeOfAProbeDecidesOrReturnsTheSlot) {
  for (int i = 0; i < kOutcomes; ++i) {
    Leaf leaf;
    leaf.half_open();
    ASSERT_TRUE(leaf.call(static_cast<Outcome>(i)));
    EXPECT_TRUE(leaf.call(Outcome::kOk)) << to_string(static_cast<Outcome>(i));
  }
}

TEST(Traps, B5AProbeRefusedByALaterGateLeavesTheSlotFree) {
  Leaf leaf({.max_in_flight = 1});
  leaf.half_open();
  Tail zombie;
  {
    auto probe = leaf.admit();
    ASSERT_TRUE(probe.has_value());
    zombie = probe->finish(leaf.now, Outcome::kShort);
  }
  auto refused = leaf.admit();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), Refusal::kConcurrency);
  zombie = Tail{};
  EXPECT_TRUE(leaf.admit().has_value());
}

TEST(Traps, B6PeekingNeverTakesAProbe) {
  Leaf leaf;
  leaf.half_open();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(leaf.guard.peek().state, State::kHalfOpen);
  }
  EXPECT_TRUE(leaf.admit().has_value());
}

TEST(Traps, B8AndB9CallsBegunBeforeTheTripNeverMoveALaterState) {
  Leaf leaf;
  std::vector<Permit> old;
  for (int i = 0; i < 40; ++i) {
    old.push_back(*leaf.admit());
  }
  leaf.half_open();
  for (int i = 0; i < 20; ++i) {
    old[static_cast<size_t>(i)].finish(leaf.now, Outcome::kOk);
  }
  leaf.pass(200ms);
  EXPECT_EQ(leaf.state(), State::kHalfOpen);
  leaf.ramping();
  for (int i = 20; i < 40; ++i) {
    old[static_cast<size_t>(i)].finish(leaf.now, Outcome::kTimeout);
    leaf.pass(100ms);
  }
  EXPECT_EQ(leaf.state(), State::kRamping);
  EXPECT_EQ(leaf.guard.totals().late, 40U);
}

TEST(Traps, B12APassedDeadlineIsSeenByTheFirstTickHoweverLate) {
  Leaf leaf;
  leaf.open();
  leaf.now += 10h;
  leaf.guard.tick(leaf.now, leaf.log);
  EXPECT_EQ(leaf.state(), State::kHalfOpen);
}

TEST(Traps, B14OneBadProbeAmongGoodOnesDoesNotCostAnOpenPeriod) {
  Leaf leaf;
  leaf.half_open();
  for (const Outcome outcome :
       {Outcome::kOk, Outcome::kOk, Outcome::kTimeout, Outcome::kOk, Outcome::kOk, Outcome::kOk}) {
    ASSERT_TRUE(leaf.call(outcome));
  }
  leaf.pass(100ms);
  EXPECT_EQ(leaf.state(), State::kRamping);
}

TEST(Traps, B15OldErrorsDoNotTripAgainAfterARecovery) {
  Leaf leaf({.open_min = 100ms, .open_max = 100ms, .ramp = 1s});
  leaf.calls(60, Outcome::kOk, 100ms);
  leaf.ramping();
  const size_t moves = leaf.log.size();
  leaf.calls(30, Outcome::kOk);
  EXPECT_EQ(leaf.state(), State::kClosed);
  EXPECT_EQ(leaf.log.size(), moves + 1);
}

TEST(Traps, B16FlappingIsAskedLessAndLessOften) {
  Leaf leaf;
  leaf.open();
  const auto first = leaf.log.back().open_for;
  for (int i = 0; i < 3; ++i) {
    leaf.ramping();
    for (int n = 0; leaf.state() == State::kRamping && n < 2000; ++n) {
      leaf.call(Outcome::kServerError);
      leaf.pass(100ms);
    }
    ASSERT_EQ(leaf.state(), State::kOpen);
  }
  EXPECT_GT(leaf.log.back().open_for, 2 * first);
}

TEST(Traps, B17ADependencyReadmittedWhileStillHungIsOpenedAgainInAFewCalls) {
  Leaf leaf;
  leaf.ramping();
  int calls = 0;
  while (leaf.state() == State::kRamping && calls < 100) {
    calls += leaf.call(Outcome::kTimeout, 100ms) ? 1 : 0;
    leaf.pass(20ms);
  }
  EXPECT_EQ(leaf.state(), State::kOpen);
  EXPECT_LE(calls, 12) << "no new full window";
}

TEST(Traps, B18ACancelledProbeIsNobodysFault) {
  Leaf leaf;
  leaf.half_open();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(leaf.call(Outcome::kCancelled));
  }
  leaf.pass(200ms);
  EXPECT_EQ(leaf.state(), State::kHalfOpen);
}

TEST(Traps, B19ADroppedProbePermitFreesItsSlot) {
  Leaf leaf;
  leaf.half_open();
  {
    const auto dropped = leaf.admit();
  }
  EXPECT_TRUE(leaf.admit().has_value());
  EXPECT_EQ(leaf.guard.totals().outcomes[static_cast<size_t>(Outcome::kAbandoned)], 2U);
}

TEST(Traps, W1AndW2TimeThatGoesBackBlindsNothing) {
  Leaf leaf;
  leaf.calls(40, Outcome::kOk);
  const base::Instant before = leaf.now;
  leaf.guard.tick(leaf.now - 30min, leaf.log);
  leaf.now = before;
  leaf.calls(40, Outcome::kServerError);
  ASSERT_FALSE(leaf.log.empty());
  EXPECT_LE(leaf.log.front().at - before, 2s);
}

TEST(Traps, W3DisjointErrorsAndSlownessAreOneBadShare) {
  Leaf leaf;
  constexpr std::array kMix{Outcome::kServerError, Outcome::kServerError, Outcome::kSlow,
                            Outcome::kSlow, Outcome::kOk};
  for (int i = 0; i < 100 && leaf.state() == State::kClosed; ++i) {
    leaf.calls(1, kMix[static_cast<size_t>(i) % kMix.size()]);
  }
  EXPECT_EQ(leaf.state(), State::kOpen);
}

TEST(Traps, W4FiveCallsASecondAllFailingOpenInSeconds) {
  Leaf leaf;
  leaf.calls(50, Outcome::kOk, 200ms);
  const base::Instant start = leaf.now;
  while (leaf.state() == State::kClosed && leaf.now - start < 10s) {
    leaf.calls(1, Outcome::kServerError, 200ms);
  }
  EXPECT_LE(leaf.now - start, 2s);
}

TEST(Traps, W5EveryCallSlowIsABadShareOfOne) {
  Leaf leaf;
  leaf.calls(20, Outcome::kSlow);
  EXPECT_EQ(leaf.state(), State::kOpen);
}

TEST(Traps, W11AFreshLeafWhoseCallsAllFailNeedsFiveToOpen) {
  Leaf leaf;
  leaf.calls(6, Outcome::kServerError);
  EXPECT_EQ(leaf.state(), State::kOpen);
}

TEST(Traps, W12FastErrorsCountAsMuchAsSlowOnes) {
  Leaf leaf;
  for (int i = 0; i < 300 && leaf.state() == State::kClosed; ++i) {
    const bool bad = i % 5 < 3;
    leaf.call(bad ? Outcome::kServerError : Outcome::kOk, bad ? 100us : 10ms);
    leaf.pass(20ms);
  }
  EXPECT_EQ(leaf.state(), State::kOpen);
}

TEST(Traps, C1CancelledCallsNeverOpen) {
  Leaf leaf;
  leaf.calls(200, Outcome::kCancelled, 20ms);
  EXPECT_EQ(leaf.state(), State::kClosed);
  EXPECT_EQ(leaf.guard.peek().in_flight, 0);
}

TEST(Traps, C1CallsCancelledWhenAlreadySlowDoOpen) {
  Leaf leaf;
  leaf.calls(20, Outcome::kCancelledSlow);
  EXPECT_EQ(leaf.state(), State::kOpen);
}

TEST(Traps, C2OurOwnRefusalsNeverOpen) {
  Leaf leaf({.max_in_flight = 1});
  const auto holder = leaf.admit();
  for (int i = 0; i < 100; ++i) {
    const auto refused = leaf.admit();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), Refusal::kConcurrency);
    leaf.pass(20ms);
  }
  EXPECT_EQ(leaf.state(), State::kClosed);
}

TEST(Traps, C3ATimedOutCallHoldsItsSlotUntilItsTailEnds) {
  Leaf leaf({.max_in_flight = 2});
  auto first = leaf.admit();
  auto second = leaf.admit();
  leaf.now += 300ms;
  Tail zombie = first->finish(leaf.now, Outcome::kTimeout);
  EXPECT_FALSE(leaf.admit().has_value());
  EXPECT_EQ(leaf.guard.peek().in_flight, 2);
  leaf.now += 4s;
  zombie.settle(4300ms);
  EXPECT_EQ(leaf.guard.peek().in_flight, 1);
  EXPECT_TRUE(leaf.admit().has_value());
}

TEST(Traps, C4MovingPermitsAndTailsAroundLosesNoSlot) {
  Leaf leaf({.max_in_flight = 4});
  for (int round = 0; round < 10; ++round) {
    std::vector<Permit> held;
    for (int i = 0; i < 4; ++i) {
      held.push_back(std::move(*leaf.admit()));
    }
    ASSERT_FALSE(leaf.admit().has_value());
    Permit moved = std::move(held[0]);
    held[1] = std::move(moved);
    Tail tail = held[1].finish(leaf.now, Outcome::kOk);
    Tail other = std::move(tail);
    tail = std::move(other);
  }
  EXPECT_EQ(leaf.guard.peek().in_flight, 0);
}

TEST(Traps, C5CallsThatTakeNoTimeAreSafe) {
  Leaf leaf;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(leaf.call(Outcome::kOk, 0ns));
  }
  leaf.pass(2s);
  EXPECT_EQ(leaf.state(), State::kClosed);
  EXPECT_TRUE(leaf.call(Outcome::kOk));
}

TEST(Traps, C6ATimeoutUnderAShortBudgetIsNotTheDependencysFault) {
  Leaf leaf;
  leaf.calls(100, Outcome::kOk, 50ms);
  leaf.pass(2s);
  auto permit = leaf.admit(9ms);
  ASSERT_TRUE(permit || permit.error() == Refusal::kDeadlineTooShort);
  EXPECT_GT(leaf.guard.peek().p50, 8ms);
}

TEST(Traps, C7OneCallMovesOneCount) {
  Leaf leaf;
  leaf.calls(10, Outcome::kOk);
  leaf.calls(2, Outcome::kTimeout);
  const Totals totals = leaf.guard.totals();
  uint64_t sum = 0;
  for (const uint64_t count : totals.outcomes) {
    sum += count;
  }
  EXPECT_EQ(sum, 12U);
  EXPECT_EQ(totals.admitted[0], 12U);
}

}  // namespace
}  // namespace spillway::resilience
