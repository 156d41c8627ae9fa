#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/classic_rules.h"
#include "resilience/guard.h"
#include "resilience/leaf_test.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

// The breaker of `rules: classic` in a guard.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

Settings classic_settings() {
  return {
      .rules = Settings::Rules::kClassic,
      .classic = {.size = 20, .min_calls = 10, .slow = 100ms, .half_open_calls = 4, .open = 2s}};
}

TEST(ClassicGuard, OpensByItsWindowAndClosesWithoutARamp) {
  Leaf leaf(classic_settings());
  leaf.calls(9, Outcome::kServerError);
  EXPECT_EQ(leaf.state(), State::kClosed) << "the usual rules would have opened";
  leaf.calls(1, Outcome::kServerError);
  EXPECT_EQ(leaf.state(), State::kOpen);
  EXPECT_EQ(leaf.last_rule(), "classic_window");
  leaf.pass(2100ms);
  EXPECT_EQ(leaf.state(), State::kHalfOpen);
  leaf.calls(1, Outcome::kServerError);
  leaf.calls(3, Outcome::kOk);
  EXPECT_EQ(leaf.state(), State::kClosed);
  EXPECT_EQ(leaf.log.back().from_state, State::kHalfOpen);
}

TEST(ClassicGuard, OpensAgainWhenHalfOfTheProbesFail) {
  Leaf leaf(classic_settings());
  leaf.calls(10, Outcome::kServerError);
  leaf.pass(2100ms);
  leaf.calls(2, Outcome::kServerError);
  leaf.calls(2, Outcome::kOk);
  EXPECT_EQ(leaf.state(), State::kOpen);
  EXPECT_EQ(leaf.last_rule(), "probe_bad");
}

TEST(ClassicGuard, TestsFailuresAndSlownessApart) {
  Leaf leaf(classic_settings());
  for (int i = 0; i < 40; ++i) {
    leaf.calls(2, Outcome::kServerError);
    leaf.calls(2, Outcome::kSlow);
    leaf.calls(1, Outcome::kOk);
  }
  EXPECT_EQ(leaf.state(), State::kClosed) << "40 % and 40 %: resilience4j stays closed";
}

// In a Guard, answers beyond the ceiling come as slow ones; they are no more than beyond it unless
// they are slow too.
TEST(ClassicGuard, OpensWhenTheP99IsOverItsCeilingAndNeverForTheAnswersUnderIt) {
  Settings settings{.rules = Settings::Rules::kClassic,
                    .classic = {.size = 200, .min_calls = 200, .slow_rate = 0.01, .slow = 100ms}};
  settings.classic.p99_ceiling = 60ms;
  Leaf leaf(settings);
  {
    const auto permit = leaf.admit(300ms);
    ASSERT_TRUE(permit.has_value());
    EXPECT_EQ(permit->terms().slow_after, 60ms);
  }
  const auto late = [&](int calls, base::Duration takes) {
    for (int i = 0; i < calls; ++i) {
      ASSERT_TRUE(leaf.call(Outcome::kSlow, takes));
      leaf.pass(100ms);
    }
  };
  leaf.calls(198, Outcome::kOk);
  late(2, 80ms);
  EXPECT_EQ(leaf.state(), State::kClosed) << "1 % over: the p99 itself is under";
  late(1, 80ms);
  EXPECT_EQ(leaf.state(), State::kOpen);
  EXPECT_NE(leaf.log.back().reason.find("0 slow and 3 over the p99 ceiling of 200"),
            std::string::npos)
      << leaf.log.back().reason;
}

TEST(ClassicGuard, AnAnswerThatIsSlowIsOverTheP99CeilingToo) {
  Settings settings{.rules = Settings::Rules::kClassic,
                    .classic = {.size = 20, .min_calls = 20, .slow_rate = 0.5, .slow = 100ms}};
  settings.classic.p99_ceiling = 60ms;
  Leaf leaf(settings);
  leaf.calls(19, Outcome::kOk);
  EXPECT_EQ(leaf.state(), State::kClosed);
  ASSERT_TRUE(leaf.call(Outcome::kSlow, 120ms));
  leaf.pass(100ms);
  EXPECT_EQ(leaf.state(), State::kOpen);
  EXPECT_NE(leaf.log.back().reason.find("1 slow and 1 over"), std::string::npos)
      << leaf.log.back().reason;
}

TEST(ClassicGuard, ItsP99CeilingLiesNoHigherThanItsSlowLine) {
  Settings settings;
  settings.classic.slow = 100ms;
  settings.classic.p99_ceiling = 101ms;
  const auto problems = validate(settings);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "classic.p99_ceiling");
  settings.classic.p99_ceiling = 100ms;
  EXPECT_TRUE(validate(settings).empty());
}

TEST(ClassicGuard, BlamesNoAnswerBelowItsOwnSlowLine) {
  Leaf leaf(classic_settings());
  const auto permit = leaf.admit(300ms);
  ASSERT_TRUE(permit.has_value());
  EXPECT_EQ(permit->terms().slow_after, 100ms);
}

TEST(ClassicGuard, IsNeverStuckHalfOpenWhenItsRulesChangeInTheMiddle) {
  Leaf leaf;
  leaf.half_open();
  leaf.guard.set_settings(classic_settings());
  for (int i = 0; i < 300 && leaf.state() != State::kClosed; ++i) {
    leaf.calls(1, Outcome::kOk);
  }
  EXPECT_EQ(leaf.state(), State::kClosed);
  Leaf other(classic_settings());
  other.half_open();
  other.guard.set_settings({});
  for (int i = 0; i < 600 && other.state() != State::kClosed; ++i) {
    other.calls(1, Outcome::kOk);
  }
  EXPECT_EQ(other.state(), State::kClosed);
}

}  // namespace
}  // namespace spillway::resilience
