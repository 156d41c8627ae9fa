#include "capacity/replay.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "capacity/fleet_test.h"
#include "capacity/forecast.h"
#include "capacity/law_settings.h"
#include "capacity/sample.h"
#include "capacity/sample_text.h"

namespace spillway::capacity {
namespace {

using std::chrono::minutes;

FleetSettings noisy(LawKind law) {
  FleetSettings settings;
  settings.law.law = law;
  settings.own_delay = seconds(1);
  settings.mean_delay = seconds(2);
  settings.stale_after = seconds(8);
  settings.reading_noise = 0.02;
  settings.cost_noise = 0.01;
  return settings;
}

/// A run with all that can happen to a server in it.
std::vector<Sample> recorded_run(const FleetSettings& settings) {
  FleetModel fleet(settings);
  fleet.add_standard_fleet();
  fleet.run(minutes(2), steady(fleet.capacity(), 0.6));
  fleet.server(3).stuck_at = 0.2;
  fleet.server(5).fails = true;
  fleet.server(7).orders.pin = 80;
  fleet.server(8).orders.draining = true;
  fleet.server(9).health = 0.5;
  fleet.server(10).sensor_alive = false;
  fleet.add("a", "8x1.0", 800, seconds(0)).orders.warming = true;
  fleet.run(minutes(1), steady(fleet.capacity(), 0.7));
  fleet.server(27).orders.warming = false;
  fleet.server(27).serving_since = fleet.now();
  fleet.run(minutes(2), steady(fleet.capacity(), 0.75));
  return fleet.published();
}

/// Through text and back, as a file has it.
std::vector<Sample> through_text(const std::vector<Sample>& samples) {
  std::vector<Sample> read;
  for (const Sample& sample : samples) {
    std::string line;
    append_text(line, sample, base::Instant{});
    read.push_back(parse_text(line, base::Instant{}).value());
  }
  return read;
}

class EveryLaw : public ::testing::TestWithParam<LawKind> {};

TEST_P(EveryLaw, DecidesTheSameOnReplayToTheLastBit) {
  const FleetSettings settings = noisy(GetParam());
  const auto recorded = through_text(recorded_run(settings));
  Replay replay({.law = settings.law,
                 .publish_delay = settings.mean_delay,
                 .view = {.stale_after = settings.stale_after}});
  ASSERT_GT(recorded.size(), 4000);
  for (const Sample& sample : recorded) {
    const Decision* decision = replay.on_sample(sample);
    ASSERT_NE(decision, nullptr);
    ASSERT_EQ(decision->weight, sample.weight) << sample.id << " " << sample.sequence;
    ASSERT_EQ(decision->capacity, sample.capacity);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, EveryLaw,
                         ::testing::Values(LawKind::kEqual, LawKind::kStatic, LawKind::kSetpoint,
                                           LawKind::kZoneMeanAdditive,
                                           LawKind::kZoneMeanMultiplicative, LawKind::kCapacity),
                         [](const auto& of) { return std::string(to_string(of.param)); });

TEST(Replay, AnotherSettingDecidesOtherwise) {
  FleetSettings settings = noisy(LawKind::kCapacity);
  const auto recorded = recorded_run(settings);
  settings.law.smoothing = 0.11;
  Replay replay({.law = settings.law,
                 .publish_delay = settings.mean_delay,
                 .view = {.stale_after = settings.stale_after}});
  size_t differ = 0;
  for (const Sample& sample : recorded) {
    differ += replay.on_sample(sample)->weight != sample.weight ? 1 : 0;
  }
  EXPECT_GT(differ, recorded.size() / 2);
}

TEST(Replay, ItHoldsAtMostMaxServers) {
  Replay replay({.law = {}, .publish_delay = {}, .view = {.max_servers = 2}});
  Sample sample;
  for (const auto* id : {"s1", "s2"}) {
    sample.id = id;
    EXPECT_NE(replay.on_sample(sample), nullptr);
  }
  sample.id = "s3";
  EXPECT_EQ(replay.on_sample(sample), nullptr);
}

std::vector<Sample> steady_run(LawKind law, double utilization) {
  FleetSettings settings = noisy(law);
  settings.reading_noise = 0.01;
  settings.cost_noise = 0.005;
  FleetModel fleet(settings);
  fleet.add_standard_fleet();
  fleet.run(minutes(10), steady(fleet.capacity(), utilization));
  return fleet.published();
}

TEST(Forecast, OfTheLawThatRanItIsWhatWasObserved) {
  ForecastSettings settings;
  const auto result = forecast(steady_run(LawKind::kCapacity, 0.6), settings);
  EXPECT_EQ(result.servers, 27);
  EXPECT_EQ(result.zones, 1);
  EXPECT_EQ(result.lines_left_out, 0);
  EXPECT_NEAR(result.instances, 27, 0.5);
  EXPECT_NEAR(result.predicted.spread_60s, result.observed.spread_60s, 2);
  EXPECT_NEAR(result.predicted.mean_utilization, result.observed.mean_utilization, 0.02);
  EXPECT_NEAR(result.predicted.instances_needed, result.observed.instances_needed, 1.5);
}

TEST(Forecast, CapacityOnAnEqualFleetPredictsWhatARunOfItShows) {
  const auto equal = forecast(steady_run(LawKind::kEqual, 0.35), {});
  const auto run = forecast(steady_run(LawKind::kCapacity, 0.35), {});
  EXPECT_GT(equal.observed.spread_60s, 30);
  EXPECT_NEAR(equal.predicted.spread_60s, run.observed.spread_60s, 2);
  EXPECT_LT(equal.predicted.instances_needed, 0.5 * equal.observed.instances_needed);
}

TEST(Forecast, TheEqualLawOnACapacityFleetShowsWhatItWouldHaveLost) {
  ForecastSettings settings;
  settings.law.law = LawKind::kEqual;
  const auto result = forecast(steady_run(LawKind::kCapacity, 0.65), settings);
  EXPECT_GT(result.predicted.fullest, 1.5);
  EXPECT_GT(result.predicted.lost_share, 0.05);
  EXPECT_EQ(result.observed.lost_share, 0);
}

TEST(Forecast, LinesThatCannotBeAreCountedAndLeftOut) {
  auto recorded = steady_run(LawKind::kCapacity, 0.6);
  std::swap(recorded[100], recorded[900]);
  recorded[500].utilization = 7;
  const auto result = forecast(recorded, {});
  EXPECT_GT(result.lines_left_out, 1);
  EXPECT_EQ(result.servers, 27);
}

TEST(Forecast, NothingRecordedIsNothingForecast) {
  const auto result = forecast({}, {});
  EXPECT_EQ(result.servers, 0);
  EXPECT_EQ(result.steps, 0);
}

}  // namespace
}  // namespace spillway::capacity
