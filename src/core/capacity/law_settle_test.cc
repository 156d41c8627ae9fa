#include <chrono>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "capacity/fleet_test.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"

namespace spillway::capacity {
namespace {

/// As the study had it: delays in periods of 5 s, equal weights at first, no limit of steps.
FleetSettings study_of(LawKind law, double gain, int delay_periods) {
  FleetSettings settings = fleet_of(law, seconds(5));
  settings.law.gain = gain;
  settings.law.allow_unsafe_gain = true;
  settings.law.smoothing = 0.2;
  settings.law.max_step = settings.law.failing_step = 10;
  settings.own_delay = settings.mean_delay = delay_periods * seconds(5);
  return settings;
}

double settle_periods(const FleetSettings& settings) {
  FleetModel fleet(settings);
  fleet.add_standard_fleet();
  fleet.run(seconds(1000), steady(fleet.capacity(), 0.65));
  return fleet.settle_periods();
}

struct Cell {
  LawKind law;
  double gain;
  int delay;
  double periods;    ///< Of the study; -1: never.
  double tolerance;  ///< A factor.
};

class SettleTimes : public ::testing::TestWithParam<Cell> {};

TEST_P(SettleTimes, AreThoseOfTheStudy) {
  const Cell& cell = GetParam();
  const double periods = settle_periods(study_of(cell.law, cell.gain, cell.delay));
  std::printf("%s gain %.1f, %d periods late: settled after %.0f periods (study: %.1f)\n",
              std::string(to_string(cell.law)).c_str(), cell.gain, cell.delay, periods,
              cell.periods);
  if (cell.periods < 0) {
    EXPECT_EQ(periods, -1);
  } else {
    EXPECT_LE(periods, cell.periods * cell.tolerance);
    EXPECT_GE(periods, cell.periods / cell.tolerance);
  }
}

constexpr auto kAdditive = LawKind::kZoneMeanAdditive;
constexpr auto kMultiplicative = LawKind::kZoneMeanMultiplicative;
constexpr auto kFeedForward = LawKind::kCapacity;

INSTANTIATE_TEST_SUITE_P(
    Additive, SettleTimes,
    ::testing::Values(Cell{kAdditive, .1, 0, 72, 1.1}, Cell{kAdditive, .1, 3, 69, 1.1},
                      Cell{kAdditive, .2, 1, 35, 1.1}, Cell{kAdditive, .3, 0, 24, 1.1},
                      Cell{kAdditive, .3, 1, 25, 1.1}, Cell{kAdditive, .7, 0, 11, 1.1},
                      Cell{kAdditive, .3, 2, -1, 1}, Cell{kAdditive, .5, 1, -1, 1},
                      Cell{kAdditive, .2, 4, -1, 1}, Cell{kAdditive, .7, 2, -1, 1}));
INSTANTIATE_TEST_SUITE_P(
    Multiplicative, SettleTimes,
    ::testing::Values(Cell{kMultiplicative, .1, 0, 43, 1.3}, Cell{kMultiplicative, .1, 3, 39, 1.3},
                      Cell{kMultiplicative, .2, 0, 29, 1.3}, Cell{kMultiplicative, .2, 3, 32, 1.3},
                      Cell{kMultiplicative, .3, 3, 50, 1.3}, Cell{kMultiplicative, .7, 1, 28, 1.3},
                      Cell{kMultiplicative, .3, 4, -1, 1}, Cell{kMultiplicative, .5, 3, -1, 1},
                      Cell{kMultiplicative, .2, 6, -1, 1}, Cell{kMultiplicative, 1, 1, -1, 1}));
INSTANTIATE_TEST_SUITE_P(
    Capacity, SettleTimes,
    ::testing::Values(Cell{kFeedForward, .2, 0, 4.5, 1.4}, Cell{kFeedForward, .2, 1, 6.5, 1.4},
                      Cell{kFeedForward, .2, 2, 8.5, 1.4}, Cell{kFeedForward, .2, 3, 10.5, 1.4},
                      Cell{kFeedForward, .2, 4, 12.5, 1.4}, Cell{kFeedForward, .2, 6, 16.5, 1.4}));

TEST(Fleet, CpuAloneWithDelayCompensatedIsStableAtEveryDelay) {
  for (const int delay : {0, 1, 2, 4}) {
    FleetSettings settings = study_of(LawKind::kCapacity, 1, delay);
    settings.law.own_delay = settings.own_delay;
    FleetModel fleet(settings);
    fleet.add_standard_fleet();
    fleet.hide_successes();
    fleet.run(seconds(1500), steady(fleet.capacity(), 0.65));
    const double periods = fleet.settle_periods();
    EXPECT_GT(periods, 0) << delay;
    EXPECT_LE(periods, 20 + 15 * delay) << delay;
    EXPECT_TRUE(fleet.server(0).last.reasons.has(Reason::kCpuOnly));
  }
}

}  // namespace
}  // namespace spillway::capacity
