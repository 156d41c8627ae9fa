#include "capacity/law_settings.h"

#include <chrono>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace spillway::capacity {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr LawKind kLaws[] = {LawKind::kEqual,
                             LawKind::kStatic,
                             LawKind::kSetpoint,
                             LawKind::kZoneMeanAdditive,
                             LawKind::kZoneMeanMultiplicative,
                             LawKind::kCapacity};

TEST(LawSettings, TheDefaultsAreSoundForEveryLaw) {
  for (const auto law : kLaws) {
    EXPECT_EQ(law_of(to_string(law)), law);
  }
  EXPECT_EQ(law_of("zone_mean"), std::nullopt);
}

struct Wrong {
  std::string key;
  std::function<void(LawSettings&)> spoil;
};

class WrongSetting : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongSetting, IsNamedAlone) {
  LawSettings settings;
  GetParam().spoil(settings);
  const auto problems = check(settings);
  ASSERT_EQ(problems.size(), 1);
  EXPECT_EQ(problems[0].key, GetParam().key);
  EXPECT_NE(problems[0].what.find(" is not between "), std::string::npos) << problems[0].what;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Each, WrongSetting,
    ::testing::Values(Wrong{"period", [](auto& s) { s.period = milliseconds(50); }},
                      Wrong{"own_delay", [](auto& s) { s.own_delay = milliseconds(-1); }},
                      Wrong{"mean_delay", [](auto& s) { s.mean_delay = hours(1); }},
                      Wrong{"gain", [](auto& s) { s.gain = 0; }},
                      Wrong{"smallest_weight", [](auto& s) { s.smallest_weight = 0; }},
                      Wrong{"setpoint", [](auto& s) { s.setpoint = 1; }},
                      Wrong{"static_weight", [](auto& s) { s.static_weight = 257; }},
                      Wrong{"mean_weight", [](auto& s) { s.mean_weight = 9; }},
                      Wrong{"top_weight", [](auto& s) { s.top_weight = 99; }},
                      Wrong{"min_weight", [](auto& s) { s.min_weight = 0; }},
                      Wrong{"max_weight", [](auto& s) { s.max_weight = 300; }},
                      Wrong{"max_step", [](auto& s) { s.max_step = 0; }},
                      Wrong{"failing_step", [](auto& s) { s.failing_step = 0.1; }},
                      Wrong{"prior_band", [](auto& s) { s.prior_band = 1; }},
                      Wrong{"smoothing", [](auto& s) { s.smoothing = 0; }},
                      Wrong{"boost", [](auto& s) { s.boost = 0.05; }},
                      Wrong{"boost_error", [](auto& s) { s.boost_error = 2; }},
                      Wrong{"min_utilization", [](auto& s) { s.min_utilization = 0.6; }},
                      Wrong{"min_successes_per_second",
                            [](auto& s) { s.min_successes_per_second = -1; }},
                      Wrong{"warm_up", [](auto& s) { s.warm_up = hours(1); }},
                      Wrong{"class_band", [](auto& s) { s.class_band = 1; }},
                      Wrong{"failure_penalty", [](auto& s) { s.failure_penalty = -1; }},
                      Wrong{"lie_utilization", [](auto& s) { s.lie_utilization = 2; }},
                      Wrong{"lie_throttled_share", [](auto& s) { s.lie_throttled_share = 0; }},
                      Wrong{"lie_pressure", [](auto& s) { s.lie_pressure = 0; }},
                      Wrong{"lie_latency_ratio", [](auto& s) { s.lie_latency_ratio = 1; }},
                      Wrong{"stuck_after", [](auto& s) { s.stuck_after = 1; }},
                      Wrong{"failing_share", [](auto& s) { s.failing_share = 0; }},
                      Wrong{"ramp", [](auto& s) { s.ramp = hours(1); }},
                      Wrong{"ramp_from", [](auto& s) { s.ramp_from = kNan; }},
                      Wrong{"remember_mean", [](auto& s) { s.remember_mean = hours(2); }},
                      Wrong{"latency_cores", [](auto& s) { s.latency_cores = 0; }},
                      Wrong{"latency_utilization", [](auto& s) { s.latency_utilization = 1; }}),
    [](const auto& of) { return of.param.key; });

TEST(LawSettings, AGainUnsafeForTheDelayIsRefusedWithWhatWouldDo) {
  LawSettings settings;
  settings.law = LawKind::kZoneMeanMultiplicative;
  settings.gain = 0.3;
  settings.period = seconds(2);
  settings.mean_delay = seconds(120);
  const auto problems = check(settings);
  ASSERT_EQ(problems.size(), 1);
  EXPECT_EQ(problems[0].key, "gain");
  EXPECT_EQ(problems[0].what,
            "0.3 is unsafe: zone_mean_multiplicative acts 60.5 periods late, where a loop gain "
            "above 0.02575 rings for ever, and this one's is 0.3; at most 0.0206, best 0.006031, "
            "or a longer period");
  settings.allow_unsafe_gain = true;
  EXPECT_TRUE(check(settings).empty());
}

TEST(LawSettings, TheAdditiveLawIsJudgedAtItsSmallestWeight) {
  LawSettings settings;
  settings.law = LawKind::kZoneMeanAdditive;
  settings.gain = 0.3;
  EXPECT_EQ(check(settings).size(), 1);
  settings.smallest_weight = 80;
  EXPECT_TRUE(check(settings).empty());
}

TEST(LawSettings, TheGainOfALawWithoutALoopIsNotJudged) {
  LawSettings settings;
  settings.gain = 2;
  settings.mean_delay = seconds(120);
  EXPECT_TRUE(check(settings).empty());
}

}  // namespace
}  // namespace spillway::capacity
