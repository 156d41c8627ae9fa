#include "resilience/classic.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/classic_rules.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

// The breaker of `rules: classic` alone; classic_guard_test.cc has it in a guard. Agreement with
// resilience4j on random traces is tests/oracle/classic_breaker.py's.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;
using Result = ClassicBreaker::Result;
using Says = ClassicWindow::Says;

constexpr base::Instant kStart{1h};

/// A breaker and a hand-moved clock.
class Classic {
 public:
  explicit Classic(const ClassicRules& rules) : breaker(rules, 1) {}

  ClassicBreaker breaker;
  base::Instant now = kStart;

  bool call(Result result, base::Duration took = 1ms) {
    const auto place = breaker.acquire(now);
    if (place) {
      breaker.finish(now, *place, result, took);
    }
    return place.has_value();
  }

  void calls(int count, Result result, base::Duration took = 1ms) {
    for (int i = 0; i < count; ++i) {
      call(result, took);
    }
  }
};

ClassicRules small() { return {.size = 10, .min_calls = 10, .half_open_calls = 3, .open = 1s}; }

TEST(ClassicBreaker, OpensAtTheRateAndNotBelow) {
  Classic below(small());
  below.calls(4, Result::kError);
  below.calls(6, Result::kOk);
  EXPECT_EQ(below.breaker.state(), State::kClosed);
  Classic at(small());
  at.calls(5, Result::kError);
  at.calls(5, Result::kOk);
  EXPECT_EQ(at.breaker.state(), State::kOpen);
}

TEST(ClassicBreaker, ACountWindowClampsTheMinimumCallsAndATimeWindowDoesNot) {
  Classic count({.size = 5, .min_calls = 100});
  count.calls(5, Result::kError);
  EXPECT_EQ(count.breaker.state(), State::kOpen);
  Classic time({.window = ClassicRules::Window::kTime, .size = 5, .min_calls = 100});
  time.calls(99, Result::kError);
  EXPECT_EQ(time.breaker.state(), State::kClosed);
  time.calls(1, Result::kError);
  EXPECT_EQ(time.breaker.state(), State::kOpen);
}

TEST(ClassicBreaker, ACallIsSlowOnlyStrictlyBeyondTheLine) {
  ClassicRules rules = small();
  rules.slow = 100ms;
  Classic at(rules);
  at.calls(50, Result::kOk, 100ms);
  EXPECT_EQ(at.breaker.state(), State::kClosed);
  Classic beyond(rules);
  beyond.calls(10, Result::kOk, 100ms + 1ns);
  EXPECT_EQ(beyond.breaker.state(), State::kOpen);
}

TEST(ClassicBreaker, WaitsStrictlyLongerThanTheOpenTimeAndOnlyACallMakesItHalfOpen) {
  Classic classic(small());
  classic.calls(10, Result::kError);
  classic.now += 1s;
  EXPECT_FALSE(classic.call(Result::kOk));
  classic.now += 1ns;
  EXPECT_EQ(classic.breaker.state(), State::kOpen);
  EXPECT_TRUE(classic.breaker.acquire(classic.now).has_value());
  EXPECT_EQ(classic.breaker.state(), State::kHalfOpen);
}

TEST(ClassicBreaker, AdmitsTheHalfOpenCallsAndDecidesOnTheLast) {
  Classic classic(small());
  classic.calls(10, Result::kError);
  classic.now += 2s;
  std::vector<ClassicBreaker::Place> places;
  places.reserve(3);
  for (int i = 0; i < 3; ++i) {
    places.push_back(classic.breaker.acquire(classic.now).value());
  }
  EXPECT_FALSE(classic.breaker.acquire(classic.now).has_value());
  classic.breaker.finish(classic.now, places[0], Result::kError, 1ms);
  classic.breaker.finish(classic.now, places[1], Result::kOk, 1ms);
  EXPECT_FALSE(classic.breaker.acquire(classic.now).has_value()) << "a recorded call is spent";
  EXPECT_EQ(classic.breaker.state(), State::kHalfOpen);
  classic.breaker.finish(classic.now, places[2], Result::kOk, 1ms);
  EXPECT_EQ(classic.breaker.state(), State::kClosed);
}

TEST(ClassicBreaker, ThePositionOfTheP99DecidesAboveTheCeiling) {
  ClassicRules rules{.size = 200, .min_calls = 200, .p99_ceiling = 300ms};
  Classic two(rules);
  two.calls(198, Result::kOk);
  two.calls(2, Result::kOk, 301ms);
  EXPECT_EQ(two.breaker.state(), State::kClosed) << "1 % over: the p99 itself is under";
  Classic three(rules);
  three.calls(197, Result::kOk);
  three.calls(3, Result::kOk, 301ms);
  EXPECT_EQ(three.breaker.state(), State::kOpen);
}

TEST(ClassicBreaker, TheWaitGrowsIsCappedAndSpreads) {
  base::Rng rng(1);
  ClassicRules rules{.open = 1s, .open_growth = 1.5, .open_cap = 4s};
  EXPECT_EQ(classic_wait(rules, 1, rng), 1s);
  EXPECT_EQ(classic_wait(rules, 3, rng), 2250ms);
  EXPECT_EQ(classic_wait(rules, 1'000'000, rng), 4s);
  rules.open_jitter = 0.5;
  for (int i = 0; i < 100; ++i) {
    const auto wait = classic_wait(rules, 1, rng);
    EXPECT_TRUE(wait >= 500ms && wait <= 1500ms);
  }
}

TEST(ClassicBreaker, CountsOpeningsUntilItCloses) {
  Classic classic(small());
  classic.calls(10, Result::kError);
  classic.now += 2s;
  classic.calls(3, Result::kError);
  EXPECT_EQ(classic.breaker.attempt(), 2U);
  classic.now += 2s;
  classic.calls(3, Result::kOk);
  EXPECT_EQ(classic.breaker.state(), State::kClosed);
  EXPECT_EQ(classic.breaker.attempt(), 0U);
}

// B1, B3, B18
TEST(ClassicTraps, AProbeThatIsCancelledGivesItsPlaceBack) {
  Classic classic(small());
  classic.calls(10, Result::kError);
  classic.now += 2s;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(classic.call(Result::kCancelled));
  }
  EXPECT_EQ(classic.breaker.state(), State::kHalfOpen);
}

// B2
TEST(ClassicTraps, ProbesThatNeverEndHoldTheirPlacesNoLongerThanTheirLease) {
  Classic classic(small());
  classic.calls(10, Result::kError);
  classic.now += 2s;
  const auto lost = classic.breaker.acquire(classic.now);
  ASSERT_TRUE(lost.has_value());
  ASSERT_TRUE(classic.breaker.acquire(classic.now).has_value());
  ASSERT_TRUE(classic.breaker.acquire(classic.now).has_value());
  classic.now += ClassicBreaker::kLease - 1ms;
  EXPECT_FALSE(classic.breaker.acquire(classic.now).has_value());
  classic.now += 1ms;
  EXPECT_TRUE(classic.breaker.acquire(classic.now).has_value());
  classic.breaker.finish(classic.now, lost.value(), Result::kError, 1ms);
  EXPECT_EQ(classic.breaker.window().total().calls, 0U) << "its place was taken back";
}

// B8
TEST(ClassicTraps, ResultsOfCallsBegunBeforeATripMoveNothing) {
  Classic classic(small());
  std::vector<ClassicBreaker::Place> old;
  old.reserve(3);
  for (int i = 0; i < 3; ++i) {
    old.push_back(classic.breaker.acquire(classic.now).value());
  }
  classic.calls(10, Result::kError);
  classic.now += 2s;
  ASSERT_TRUE(classic.breaker.acquire(classic.now).has_value());
  for (const auto& place : old) {
    classic.breaker.finish(classic.now, place, Result::kOk, 1ms);
  }
  EXPECT_EQ(classic.breaker.state(), State::kHalfOpen);
}

// B15
TEST(ClassicTraps, ARecoveryBeginsWithAnEmptyWindow) {
  Classic classic(small());
  classic.calls(10, Result::kError);
  classic.now += 2s;
  classic.calls(3, Result::kOk);
  EXPECT_EQ(classic.breaker.state(), State::kClosed);
  EXPECT_EQ(classic.breaker.window().total().calls, 0U);
}

// W1
TEST(ClassicTraps, AClockSetBackBlindsNoTimeWindow) {
  Classic classic({.window = ClassicRules::Window::kTime, .size = 10, .min_calls = 20});
  classic.calls(40, Result::kOk);
  classic.now -= 59min;
  classic.calls(60, Result::kError);
  EXPECT_EQ(classic.breaker.state(), State::kOpen);
}

// W2
TEST(ClassicTraps, AClockSetBackOrForwardMovesNoDeadlineByMore) {
  Classic back(small());
  back.calls(10, Result::kError);
  back.now -= 60s;
  EXPECT_FALSE(back.call(Result::kOk));
  back.now = kStart + 1001ms;
  EXPECT_TRUE(back.call(Result::kOk)) << "open no longer than it had to be";
}

// W5
TEST(ClassicTraps, ARateOfOneIsReachedWhenEveryCallIsSlow) {
  Classic classic({.size = 10, .min_calls = 10, .slow_rate = 1.0, .slow = 10ms});
  classic.calls(10, Result::kOk, 11ms);
  EXPECT_EQ(classic.breaker.state(), State::kOpen);
}

// W5
TEST(ClassicTraps, ADecimalRateIsReachedExactly) {
  for (uint32_t percent = 1; percent <= 100; ++percent) {
    const ClassicRules rules{.size = 100, .failure_rate = percent / 100.0};
    ClassicWindow window(rules);
    window.record(kStart, {.calls = 1}, 101 - percent);
    window.record(kStart, {.calls = 1, .failed = 1}, percent - 1);
    EXPECT_EQ(window.says(rules), Says::kFine) << percent;
    window.record(kStart, {.calls = 1, .failed = 1}, 1);
    EXPECT_EQ(window.says(rules), Says::kTooBad) << percent;
  }
}

// W6
TEST(ClassicTraps, TheTotalIsTheSumOfTheBucketsWhateverSlidesOut) {
  for (const auto kind : {ClassicRules::Window::kCount, ClassicRules::Window::kTime}) {
    ClassicWindow window({.window = kind, .size = 7});
    base::Rng rng(3);
    base::Instant now = kStart;
    for (int i = 0; i < 10'000; ++i) {
      now += std::chrono::milliseconds(static_cast<int64_t>(rng.next() % 1'500));
      window.record(now,
                    {.calls = 1,
                     .failed = static_cast<uint32_t>(rng.next() % 2),
                     .slow = static_cast<uint32_t>(rng.next() % 2)},
                    static_cast<uint32_t>(rng.next() % 3));
      ASSERT_EQ(window.total(), window.sum());
      ASSERT_LE(window.total().failed, window.total().calls);
    }
  }
}

// W7
TEST(ClassicTraps, AWindowOfOneSecondIsRefused) {
  Settings settings{.rules = Settings::Rules::kClassic};
  EXPECT_TRUE(validate(settings).empty());
  settings.classic.window = ClassicRules::Window::kTime;
  settings.classic.size = 1;
  const auto problems = validate(settings);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "classic.size");
}

// W11
TEST(ClassicTraps, AFreshBreakerNeedsNoMoreThanItsMinimumCalls) {
  Classic classic({.size = 100, .min_calls = 5});
  classic.calls(5, Result::kError);
  EXPECT_EQ(classic.breaker.state(), State::kOpen);
}

}  // namespace
}  // namespace spillway::resilience
