#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/call_driver_test.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/limiter.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using Algorithm = LimiterSettings::Algorithm;

constexpr size_t kConcurrency = 1;  ///< Of Totals::refused.

TEST(GuardLimit, NoHealthyShapeIsRefusedACallInAnHourAtAnyRate) {
  constexpr std::array<std::pair<double, double>, 6> kShapes{
      {{20, 0.6}, {40, 0.4}, {60, 0.3}, {60, 0.6}, {75, 0.3}, {85, 0.2}}};
  for (const auto& [median, sigma] : kShapes) {
    for (const double rate : {20.0, 200.0, 1000.0}) {
      CallDriver driver(3);
      driver.run(rate > 500 ? 10min : 1h, rate, 100ms, lognormal(median, sigma));
      EXPECT_EQ(driver.guard.totals().refused[kConcurrency], 0U)
          << median << " ms, sigma " << sigma << " at " << rate << "/s";
      std::printf("%g ms sigma %g at %g/s: limit %u\n", median, sigma, rate,
                  driver.guard.peek().limit);
    }
  }
}

TEST(GuardLimit, ALatencyThatDoublesForGoodIsServedAgainWithinMinutes) {
  CallDriver driver(4);
  driver.run(5min, 1000, 290ms, lognormal(60, 0.3));
  driver.run(20min, 1000, 290ms, lognormal(120, 0.3));
  const uint64_t before = driver.admitted;
  driver.run(1min, 1000, 290ms, lognormal(120, 0.3));
  EXPECT_GT(driver.admitted - before, 57'000U);
}

TEST(GuardLimit, ASlowLeakShrinksTheLimitAndPastTheCeilingOpensTheCircuit) {
  CallDriver driver(5);
  driver.run(5min, 400, 1s, lognormal(100, 0.2));
  ASSERT_EQ(driver.guard.peek().limit, 512U);
  uint32_t at_400 = 0;
  for (int second = 0; second < 480 && driver.opened() == 0; ++second) {
    const double ms = 100 + 700.0 * second / 480;
    driver.run(1s, 400, 1s, lognormal(ms, 0.2));
    at_400 = ms <= 400 ? driver.guard.peek().limit : at_400;
  }
  EXPECT_LT(at_400, 150U) << "160 calls would be in flight without";
  EXPECT_EQ(driver.opened(), 1);
}

TEST(GuardLimit, AfterAnOpeningAQuarterOfTheLimitHoldsAndDoublesInFiveSecondsAtMost) {
  Leaf leaf({.max_in_flight = 400});
  leaf.calls(100, Outcome::kOk, 100ms);
  ASSERT_EQ(leaf.guard.peek().limit, 400U);
  leaf.ramping();
  EXPECT_EQ(leaf.guard.peek().limit, 100U);
  std::vector<Tail> held;
  for (int i = 0; i < 80; ++i) {
    while (true) {
      auto permit = leaf.admit();
      if (permit) {
        held.push_back(permit->finish(leaf.now, Outcome::kOk));
        break;
      }
      if (permit.error() == Refusal::kConcurrency) {
        break;
      }
    }
  }
  for (int i = 0; i < 50; ++i) {
    leaf.calls(2, Outcome::kOk, 50ms);
  }
  EXPECT_LE(leaf.guard.peek().limit, 210U);
}

// L13: a limit that nothing moves any more is seen.
TEST(GuardLimit, TellsWhenTheLimiterLastSawAWindow) {
  Leaf leaf;
  EXPECT_EQ(leaf.guard.peek().limit_judged, base::Instant{});
  leaf.calls(30, Outcome::kOk);
  const base::Instant judged = leaf.guard.peek().limit_judged;
  EXPECT_LE(leaf.now - judged, 3s);
  leaf.pass(1min);
  EXPECT_LE(leaf.guard.peek().limit_judged - judged, 11s) << "there was nothing to judge";
  leaf.calls(30, Outcome::kOk);
  EXPECT_LE(leaf.now - leaf.guard.peek().limit_judged, 3s);
  Leaf none({.limiter = Algorithm::kNone});
  none.calls(30, Outcome::kOk);
  EXPECT_EQ(none.guard.peek().limit_judged, base::Instant{});
}

TEST(GuardLimit, NoLimiterLeavesTheCapAndNoCapLeavesNoLimit) {
  EXPECT_EQ(Leaf({.max_in_flight = 64, .limiter = Algorithm::kNone}).guard.peek().limit, 64U);
  EXPECT_EQ(Leaf({.max_in_flight = 0}).guard.peek().limit, 0U);
  EXPECT_EQ(Leaf({.max_in_flight = 64, .limit_initial = 20}).guard.peek().limit, 20U);
  EXPECT_EQ(Leaf({.max_in_flight = 2, .limit_min = 10}).guard.peek().limit, 2U);
}

TEST(GuardLimit, ChangedSettingsKeepTheLimitWithinTheNewBounds) {
  Leaf leaf({.max_in_flight = 64, .limit_initial = 20});
  leaf.guard.set_settings({.max_in_flight = 512});
  EXPECT_EQ(leaf.guard.peek().limit, 20U);
  leaf.guard.set_settings({.max_in_flight = 10});
  EXPECT_EQ(leaf.guard.peek().limit, 10U);
  leaf.guard.set_settings({.max_in_flight = 512, .limiter = Algorithm::kNone});
  EXPECT_EQ(leaf.guard.peek().limit, 512U);
}

// C3
TEST(GuardLimit, ALateCallHoldsItsSlotUntilItsTailEnds) {
  Leaf leaf({.max_in_flight = 1});
  auto permit = leaf.admit();
  Tail tail = permit->finish(leaf.now + 300ms, Outcome::kTimeout);
  EXPECT_EQ(leaf.admit().error(), Refusal::kConcurrency);
  tail.settle(5s);
  EXPECT_TRUE(leaf.admit().has_value());
}

constexpr uint32_t kWorkers = 3;
constexpr int64_t kMax = 12;

/// Three workers hold calls and tails of one guard whose limit moves.
struct MovingLimit {
  Guard guard{"dsp/eu/display",
              {.max_in_flight = kMax, .limiter = Algorithm::kAimd},
              kWorkers,
              3,
              base::Instant(1h)};
  std::atomic<int64_t> now_ns{base::Instant(1h).time_since_epoch().count()};
  std::atomic<int64_t> held{0};
  std::atomic<int64_t> most{0};
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> busy{false};  ///< From half-way on the dependency refuses a tenth.

  [[nodiscard]] base::Instant now() const { return base::Instant(base::Duration(now_ns.load())); }

  void work(uint32_t worker) {
    base::Rng rng(worker + 1);
    std::vector<Tail> tails;
    while (!stop.load()) {
      calls.fetch_add(1);
      auto permit = guard.admit(worker, {.now = now(), .offered = 1h, .request_hash = rng.next()});
      if (!permit || tails.size() > 8) {
        // Uncounted here before the guard lets go: its own count can only be larger.
        held.fetch_sub(static_cast<int64_t>(tails.size()));
        tails.clear();
        std::this_thread::yield();
      }
      if (permit) {
        const int64_t holding = held.fetch_add(1) + 1;
        int64_t seen = most.load();
        while (holding > seen && !most.compare_exchange_weak(seen, holding)) {
        }
        const bool refuse = busy.load() && rng.below(10) == 0;
        tails.push_back(permit->finish(now() + 10ms, refuse ? Outcome::kOverload : Outcome::kOk));
      }
    }
    held.fetch_sub(static_cast<int64_t>(tails.size()));
  }

  /// The least limit seen.
  uint32_t drive(int ticks) {
    std::vector<Transition> log;
    uint32_t least = kMax;
    for (int i = 0; i < ticks; ++i) {
      busy = i > ticks / 2;
      now_ns.fetch_add(base::Duration(100ms).count());
      guard.tick(now(), log);
      least = std::min(least, guard.peek().limit);
      const uint64_t seen = calls.load();
      while (calls.load() < seen + 50) {
        std::this_thread::yield();
      }
    }
    return least;
  }
};

// L7
TEST(GuardLimit, IsNeverExceededByThreeWorkersWhileItMoves) {
  MovingLimit moving;
  std::vector<std::thread> workers;
  workers.reserve(kWorkers);
  for (uint32_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&moving, i] { moving.work(i); });
  }
  const uint32_t least = moving.drive(1500);
  moving.stop = true;
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_LE(moving.most, kMax);
  EXPECT_LT(least, kMax) << "the limit must move for this to mean anything";
  EXPECT_EQ(moving.guard.peek().in_flight, 0);
}

/// Permits and tails come and go against a small moving limit.
class Slots {
 public:
  void step(uint8_t kind, uint8_t pick) {
    if (kind % 8 < 3) {
      admit(pick);
    } else if (kind % 8 < 5 && !permits_.empty()) {
      std::swap(permits_[pick % permits_.size()], permits_.back());
      if (kind % 3 != 0) {
        tails_.push_back(permits_.back().finish(leaf_.now, static_cast<Outcome>(pick % kOutcomes)));
      }
      permits_.pop_back();
    } else if (kind % 8 < 6 && !tails_.empty()) {
      std::swap(tails_[pick % tails_.size()], tails_.back());
      if (kind % 3 == 0) {
        tails_.back().settle(pick * 1ms);
      }
      tails_.pop_back();
    } else {
      leaf_.pass(pick * 10ms);
    }
    RC_ASSERT(leaf_.guard.peek().in_flight == static_cast<int64_t>(held()));
  }

 private:
  [[nodiscard]] size_t held() const { return permits_.size() + tails_.size(); }

  void admit(uint8_t pick) {
    const bool none = held() == 0;
    auto permit = leaf_.admit(300ms, pick % 2);
    if (permit) {
      RC_ASSERT(held() < leaf_.guard.peek().limit);
      permits_.push_back(std::move(*permit));
    } else {
      RC_ASSERT(!(none && permit.error() == Refusal::kConcurrency));
    }
  }

  Leaf leaf_{{.open_min = 500ms, .max_in_flight = 8, .limit_min = 1}};
  std::vector<Permit> permits_;
  std::vector<Tail> tails_;
};

// Invariant 11.
TEST(GuardLimitProperties, CallsInFlightAreThePermitsAndTailsAliveAndNeverMoreThanTheLimit) {
  EXPECT_TRUE(rc::check("11", [](const std::vector<std::pair<uint8_t, uint8_t>>& steps) {
    Slots slots;
    for (const auto& [kind, pick] : steps) {
      slots.step(kind, pick);
    }
  }));
}

}  // namespace
}  // namespace spillway::resilience
