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

/// Calls in virtual time: Poisson starts, a latency for each leg, every event in its order.
class Backend {
 public:
  using Latency = std::function<base::Duration(base::Instant, base::Rng&)>;

  Backend(const HedgeSettings& settings, uint64_t seed, Latency latency)
      : hedger(settings, kStart), rng(seed), latency_(std::move(latency)) {}

  void run(double rate, base::Duration length) {
    const base::Instant until = now + length;
    base::Instant next = now;
    while (true) {
      const base::Instant due = events_.empty() ? base::kNever : events_.begin()->first;
      if (std::min(due, next) >= until) {
        break;
      }
      now = std::min(due, next);
      if (due <= next) {
        const auto event = events_.begin()->second;
        events_.erase(events_.begin());
        event();
      } else {
        next += base::Duration(static_cast<int64_t>(-std::log(1 - rng.uniform()) / rate * 1e9));
        begin();
      }
    }
    now = until;
  }

  /// Hedges within `share` of the starts and `reserve`, in every 10 s that end with a hedge.
  void expect_bound(double share, double reserve) const {
    size_t old_start = 0;
    size_t old_hedge = 0;
    size_t end_start = 0;
    for (size_t i = 0; i < hedges.size(); ++i) {
      while (end_start < starts.size() && starts[end_start] <= hedges[i]) {
        ++end_start;
      }
      while (starts[old_start] <= hedges[i] - 10s) {
        ++old_start;
      }
      while (hedges[old_hedge] <= hedges[i] - 10s) {
        ++old_hedge;
      }
      ASSERT_LE(static_cast<double>(i + 1 - old_hedge),
                share * static_cast<double>(end_start - old_start) + reserve + 1e-9);
    }
  }

  Hedger hedger;
  base::Rng rng;
  base::Instant now = kStart;
  std::vector<base::Instant> starts;
  std::vector<base::Instant> hedges;
  std::vector<base::Duration> took;
  uint64_t ended = 0;
  double fails = 0;

 private:
  void begin() {
    calls_.emplace_back(hedger);
    HedgedCall& call = calls_.back();
    const base::Instant began = now;
    starts.push_back(now);
    const base::Instant timer = call.start(now, now + 1s, false);
    leg(call, Leg::kFirst, began);
    events_.emplace(now + 1s,
                    [this, &call, began] { settle(call.end(now, Outcome::kTimeout), began); });
    if (timer != base::kNever) {
      events_.emplace(timer, [this, &call, began] {
        if (call.on_timer(now, kOpenGates)) {
          call.on_sent();
          hedges.push_back(now);
          leg(call, Leg::kSecond, began);
        }
      });
    }
  }

  void leg(HedgedCall& call, Leg which, base::Instant began) {
    const Outcome outcome = rng.uniform() < fails ? Outcome::kReset : Outcome::kOk;
    events_.emplace(now + latency_(now, rng), [this, &call, which, began, outcome] {
      settle(call.on_result(now, which, outcome), began);
    });
  }

  void settle(const std::optional<HedgeEnd>& end, base::Instant began) {
    if (end) {
      ++ended;
      took.push_back(now - began);
    }
  }

  Latency latency_;
  std::deque<HedgedCall> calls_;
  std::multimap<base::Instant, std::function<void()>> events_;
};

base::Duration ms(double value) { return base::Duration(static_cast<int64_t>(value * 1e6)); }

// H4
TEST(Hedge, ALatencyThatShiftsAboveTheDelayHedgesNoMoreThanTheBudgetAndTheDelayFollows) {
  Backend backend({}, 1, [](base::Instant at, base::Rng& rng) {
    return ms((at < kStart + 60s ? 10 : 50) * std::exp(0.2 * rng.normal()));
  });
  backend.run(500, 60s);
  const base::Duration before = backend.hedger.delay().value_or(0ms);
  EXPECT_GT(before, 12ms);
  EXPECT_LT(before, 18ms);
  const size_t usual = backend.hedges.size();
  backend.run(500, 10s);
  EXPECT_LE(backend.hedges.size() - usual, 500 * 20 * 0.05 + 10) << "the shift's first ten seconds";
  backend.run(500, 50s);
  EXPECT_GT(backend.hedger.delay().value_or(0ms), 60ms);
  EXPECT_LT(backend.hedger.delay().value_or(0ms), 90ms);
  backend.expect_bound(0.05, 10);
}

// H1, H4, H5: the bound of the header, whatever latencies and failures there are.
TEST(Hedge, InAnyRunHedgesStayWithinTheirShareOfStartsAndEachCallEndsOnce) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    base::Rng shape(seed);
    const double sigma = shape.uniform(0, 1.5);
    const double shift = shape.uniform(1, 20);
    const auto period = static_cast<int64_t>(1 + shape.below(30));
    Backend backend({}, seed, [=](base::Instant at, base::Rng& rng) {
      const int64_t second = (at - kStart) / 1s;
      return ms((second / period % 2 == 0 ? 5 : 5 * shift) * std::exp(sigma * rng.normal()));
    });
    for (int part = 0; part < 6; ++part) {
      backend.fails = part % 2 == 0 ? 0 : shape.uniform();
      backend.run(std::exp(shape.uniform(0, 6)), 20s);
    }
    backend.run(1e-3, 2s);
    backend.expect_bound(0.05, 10);
    EXPECT_NEAR(static_cast<double>(backend.ended), static_cast<double>(backend.starts.size()), 1);
    EXPECT_EQ(backend.hedger.counters().fired, backend.hedges.size());
    EXPECT_LE(static_cast<double>(backend.hedges.size()),
              0.05 * static_cast<double>(backend.starts.size()) + 10 * 13);
  }
}

TEST(Hedge, ATailOfSlowHostsIsCutByFivePercentMoreCalls) {
  const auto tail = [](bool enabled) {
    Backend backend({.enabled = enabled}, 3, [](base::Instant, base::Rng& rng) {
      return ms((rng.uniform() < 0.03 ? 200 : 5) * std::exp(0.2 * rng.normal()));
    });
    backend.run(500, 60s);
    std::ranges::sort(backend.took);
    return backend.took[backend.took.size() * 98 / 100];
  };
  EXPECT_LT(tail(true) * 5, tail(false));
}

TEST(Hedge, CancelledFirstLegsDoNotPullTheDelayDown) {
  Backend backend(
      {}, 4, [](base::Instant, base::Rng& rng) { return ms(10 * std::exp(0.5 * rng.normal())); });
  backend.run(500, 600s);
  EXPECT_GT(backend.hedger.delay().value_or(0ms), ms(10 * std::exp(0.5 * 1.645) * 0.85));
  EXPECT_LT(backend.hedger.delay().value_or(0ms), ms(10 * std::exp(0.5 * 1.645) * 1.25));
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
