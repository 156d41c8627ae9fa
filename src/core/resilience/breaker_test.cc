#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/outcome.h"
#include "resilience/window.h"

// Rows of the design notes' list of public faults that the breaker's own rules answer; those of the
// classic rules are in classic_test.cc, W10 and C8 in detection_test.cc.

namespace spillway::resilience {
namespace {

/// Seconds until open when each call's outcome is the next of `mix`; 60 at most.
template <size_t N>
double seconds_to_open(Leaf& leaf, const std::array<Outcome, N>& mix, base::Duration gap,
                       base::Duration takes = 10ms) {
  const base::Instant start = leaf.now;
  for (size_t i = 0; leaf.state() == State::kClosed && leaf.now - start < 60s; ++i) {
    leaf.call(mix[i % N], takes);
    leaf.pass(gap);
  }
  return base::to_ms(leaf.now - start) / 1000;
}

// B8
TEST(BreakerTraps, StaleResultsNeverMoveState) {
  Leaf leaf;
  std::vector<Permit> old;
  old.reserve(20);
  for (int i = 0; i < 20; ++i) {
    old.push_back(*leaf.admit());
  }
  leaf.half_open();
  auto probe = leaf.admit();
  ASSERT_TRUE(probe.has_value());
  for (Permit& permit : old) {
    permit.finish(leaf.now, Outcome::kOk);
  }
  leaf.pass(300ms);
  EXPECT_EQ(leaf.state(), State::kHalfOpen) << "the probe is still running";
}

// B14
TEST(BreakerTraps, OneFlakyProbeAmongGoodOnesCostsNoOpenPeriod) {
  for (int flaky = 0; flaky < 6; ++flaky) {
    Leaf leaf;
    leaf.half_open();
    for (int i = 0; i < 6 && leaf.state() == State::kHalfOpen; ++i) {
      leaf.calls(1, i == flaky ? Outcome::kTimeout : Outcome::kOk);
    }
    EXPECT_EQ(leaf.state(), State::kRamping) << "flaky probe " << flaky;
  }
}

TEST(Breaker, AFailedRoundIsRepeatedTwiceInSecondsBeforeItIsARelapse) {
  Leaf leaf({.open_min = 5s, .open_max = 20s});
  leaf.half_open();
  std::vector<base::Duration> waits;
  for (int round = 0; round < 6; ++round) {
    while (leaf.state() == State::kHalfOpen) {
      leaf.calls(1, Outcome::kServerError);
    }
    waits.push_back(leaf.log.back().open_for);
    while (leaf.state() == State::kOpen) {
      leaf.pass(100ms);
    }
  }
  const auto within = [&](size_t i, base::Duration wait) {
    EXPECT_GE(waits[i], wait * 8 / 10) << i;
    EXPECT_LE(waits[i], wait * 12 / 10) << i;
  };
  within(0, 1s);
  within(1, 1s);
  within(2, 10s);
  within(3, 1s);
  within(4, 1s);
  within(5, 20s);
}

// B15
TEST(BreakerTraps, EachEpochBeginsWithFreshWindows) {
  Leaf leaf({.open_min = 100ms, .open_max = 100ms, .ramp = 1s});
  leaf.ramping();
  while (leaf.state() == State::kRamping) {
    leaf.calls(1, Outcome::kOk, 50ms);
  }
  ASSERT_EQ(leaf.state(), State::kClosed);
  leaf.calls(3, Outcome::kServerError);
  EXPECT_EQ(leaf.state(), State::kClosed) << "three bad calls, and nothing of before";
}

// B16
TEST(BreakerTraps, BackOffDecaysWithHealthyTimeAndNotOnASuccess) {
  Leaf leaf({.open_min = 1s, .open_max = 60s, .ramp = 1s});
  leaf.open();
  for (int i = 0; i < 4; ++i) {
    leaf.ramping();
    while (leaf.state() == State::kRamping) {
      leaf.call(Outcome::kServerError);
      leaf.pass(50ms);
    }
  }
  EXPECT_GE(leaf.log.back().open_for, 12s) << "probes went well each time, and it relapsed";
}

// W1, W2
TEST(BreakerTraps, ClocksThatJumpNeitherBlindNorHurry) {
  Leaf leaf;
  leaf.calls(40, Outcome::kOk);
  const base::Instant before = leaf.now;
  leaf.guard.tick(leaf.now - 30min, leaf.log);
  leaf.now = before;
  EXPECT_LE(seconds_to_open(leaf, std::array{Outcome::kServerError}, 100ms), 2);
  const auto wait = leaf.log.back().open_for;
  const base::Instant opened = leaf.log.back().at;
  leaf.guard.tick(leaf.now - 10min, leaf.log);
  while (leaf.state() == State::kOpen) {
    leaf.pass(100ms);
  }
  EXPECT_GE(leaf.now - opened, wait);
  EXPECT_LE(leaf.now - opened, wait + 200ms);
}

// W3
TEST(BreakerTraps, FortyPercentErrorsAndFortySlowAreEightyBad) {
  Leaf leaf;
  leaf.calls(40, Outcome::kOk);
  EXPECT_LE(seconds_to_open(leaf,
                            std::array{Outcome::kServerError, Outcome::kSlow, Outcome::kServerError,
                                       Outcome::kSlow, Outcome::kOk},
                            90ms),
            10);
}

// W4
TEST(BreakerTraps, FiveErrorsASecondAreEnoughToOpen) {
  Leaf leaf;
  leaf.calls(50, Outcome::kOk, 190ms);
  EXPECT_LE(seconds_to_open(leaf, std::array{Outcome::kServerError}, 190ms), 2);
}

// W5
TEST(BreakerTraps, EveryCallSlowOpens) {
  Leaf leaf;
  leaf.calls(40, Outcome::kOk);
  EXPECT_LE(seconds_to_open(leaf, std::array{Outcome::kSlow}, 90ms), 5);
}

// W6
TEST(BreakerTraps, TheSumOfTheBucketsIsWhatWentInAndHasNotSlidOut) {
  Ring<10> ring(200ms);
  base::Rng rng(5);
  base::Instant now{1h};
  uint64_t in = 0;
  uint64_t out = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::milliseconds(static_cast<int64_t>(rng.next() % 400)) - 50ms;
    const Tally gone = ring.advance(now);
    out += gone.good + gone.bad + gone.overload;
    const Tally added{.good = rng.next() % 3, .bad = rng.next() % 3, .overload = rng.next() % 3};
    in += added.good + added.bad + added.overload;
    ring.add(added);
    const Tally sum = ring.sum();
    ASSERT_EQ(sum.good + sum.bad + sum.overload, in - out);
  }
}

// W7: a ring of one bucket does not compile (static_assert in window.h).
static_assert(requires { Ring<2>(1s); });

// W11
TEST(BreakerTraps, AFreshLeafNeedsFourToSixErrorsNotAHundredAndFifty) {
  Leaf leaf;
  int calls = 0;
  for (; leaf.state() == State::kClosed && calls < 200; ++calls) {
    leaf.calls(1, Outcome::kServerError);
  }
  EXPECT_GE(calls, 4);
  EXPECT_LE(calls, 6);
}

TEST(Breaker, OneBurstOfParallelErrorsIsOneEvent) {
  for (const Outcome outcome : {Outcome::kReset, Outcome::kServerError, Outcome::kTimeout}) {
    Leaf leaf;
    std::vector<Permit> burst;
    burst.reserve(30);
    for (int i = 0; i < 30; ++i) {
      burst.push_back(*leaf.admit());
    }
    leaf.now += 10ms;
    for (Permit& permit : burst) {
      permit.finish(leaf.now, outcome);
    }
    leaf.pass(12s);
    EXPECT_EQ(leaf.state(), State::kClosed) << to_string(outcome);
  }
}

TEST(Breaker, OneBurstOfHangingCallsIsOneEvent) {
  Leaf leaf;
  std::vector<Permit> burst;
  burst.reserve(30);
  for (int i = 0; i < 30; ++i) {
    burst.push_back(*leaf.admit(10s));
  }
  leaf.pass(5s);
  EXPECT_EQ(leaf.state(), State::kClosed);
}

TEST(Breaker, CallsInFlightPastTheirSlowLineAreSettledWhenTheyEnd) {
  Leaf leaf;
  std::vector<Permit> hanging;
  for (int i = 0; i < 3; ++i) {
    hanging.push_back(*leaf.admit(10s));
    leaf.pass(700ms);
  }
  EXPECT_EQ(leaf.state(), State::kClosed);
  hanging.clear();
  leaf.pass(100ms);
  leaf.calls(3, Outcome::kServerError);
  EXPECT_EQ(leaf.state(), State::kClosed) << "the three were abandoned: nobody's fault";
}

TEST(Breaker, AfterAPauseOfOursNoCallInFlightIsBlamedForIt) {
  Leaf leaf;
  leaf.calls(100, Outcome::kOk, 40ms);
  std::vector<Permit> open;
  for (int i = 0; i < 40; ++i) {
    open.push_back(*leaf.admit(1s));
    leaf.now += 20ms;
  }
  leaf.now += 10s;
  leaf.guard.tick(leaf.now, leaf.log);
  EXPECT_EQ(leaf.state(), State::kClosed);
}

// W12
TEST(BreakerTraps, ErrorsInAHundredMicrosecondsCountAsMuchAsSlowOnes) {
  Leaf leaf;
  leaf.calls(100, Outcome::kOk, 10ms);
  EXPECT_LE(seconds_to_open(leaf,
                            std::array{Outcome::kServerError, Outcome::kServerError,
                                       Outcome::kServerError, Outcome::kOk, Outcome::kOk},
                            20ms, 100us),
            5);
}

// W13
TEST(BreakerTraps, SuccessesAHundredTimesSlowerOpen) {
  Leaf leaf;
  for (int i = 0; i < 300; ++i) {
    leaf.call(Outcome::kOk, 5ms, 2s);
    leaf.pass(15ms);
  }
  const base::Instant start = leaf.now;
  while (leaf.state() == State::kClosed && leaf.now - start < 60s) {
    auto permit = leaf.admit(2s);
    ASSERT_TRUE(permit.has_value());
    leaf.pass(500ms);
    const bool slow = 500ms > permit->terms().slow_after;
    permit->finish(leaf.now, slow ? Outcome::kSlow : Outcome::kOk);
  }
  EXPECT_EQ(leaf.state(), State::kClosed) << "500 ms is the ceiling itself";
  while (leaf.state() == State::kClosed && leaf.now - start < 120s) {
    auto permit = leaf.admit(2s);
    ASSERT_TRUE(permit.has_value());
    leaf.pass(600ms);
    permit->finish(leaf.now, 600ms > permit->terms().slow_after ? Outcome::kSlow : Outcome::kOk);
  }
  EXPECT_EQ(leaf.state(), State::kOpen);
}

// W15
TEST(BreakerTraps, TheWindowSlidesSoThatNoBoundaryHidesAnOutage) {
  for (int offset = 0; offset < 20; ++offset) {
    Leaf leaf;
    leaf.pass(offset * 100ms);
    leaf.calls(100, Outcome::kOk, 40ms);
    EXPECT_LE(seconds_to_open(leaf, std::array{Outcome::kServerError}, 40ms), 2) << offset;
  }
}

}  // namespace
}  // namespace spillway::resilience
