#include "app/agent/meter.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include "adapters/cpu_reader.h"
#include "adapters/load_text.h"
#include "base/time.h"
#include "capacity/reading.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;
using adapters::CpuErrc;
using adapters::CpuWindow;
using adapters::LoadCounts;
using adapters::LoadErrc;

constexpr base::Instant kStart{1h};

Meter::Cpu cpu(double utilization) {
  return CpuWindow{.length = 1s, .utilization = utilization, .allowed_cores = 1};
}

std::optional<Meter::Load> load(double successes, double failures = 0, double in_flight = 0) {
  return LoadCounts{.requests = successes + failures + in_flight,
                    .successes = successes,
                    .failures = failures,
                    .in_flight = in_flight};
}

std::optional<Meter::Load> no_load(LoadErrc error) { return Meter::Load(std::unexpected(error)); }

TEST(Meter, MakesRatesOfCounts) {
  Meter meter(true);
  (void)meter.read(kStart, cpu(0.5), load(100, 1));
  const auto reading = meter.read(kStart + 2s, cpu(0.6), load(300, 5, 2));
  EXPECT_TRUE(reading.sensor_alive);
  EXPECT_DOUBLE_EQ(reading.utilization, 0.6);
  EXPECT_DOUBLE_EQ(reading.successes_per_second, 100);
  EXPECT_DOUBLE_EQ(reading.failures_per_second, 2);
  EXPECT_DOUBLE_EQ(reading.requests_per_second, 103);
  EXPECT_EQ(reading.window, 1s);
}

TEST(Meter, PassesTheTimeOfAnswersOnWithTheRatesOfTheirWindow) {
  Meter meter(true);
  auto counts = *load(100);
  counts->p95_ms = 40;
  EXPECT_EQ(meter.read(kStart, cpu(0.5), counts).p95_ms, 0);
  counts->successes = 300;
  counts->requests = 300;
  EXPECT_EQ(meter.read(kStart + 1s, cpu(0.5), counts).p95_ms, 40);
  EXPECT_EQ(meter.read(kStart + 2s, cpu(0.5), no_load(LoadErrc::kTimeout)).p95_ms, 0);
}

TEST(Meter, ANewcomerServesFromItsFirstCountsAndOneAtWorkSinceLong) {
  Meter newcomer(true);
  EXPECT_EQ(newcomer.read(kStart, cpu(0), load(0)).serving_for, 0s);
  EXPECT_FALSE(newcomer.found_serving());
  EXPECT_EQ(newcomer.read(kStart + 5s, cpu(0), load(10)).serving_for, 5s);
  newcomer.begin_serving(kStart + 6s);
  EXPECT_EQ(newcomer.read(kStart + 7s, cpu(0), load(10)).serving_for, 1s);
  Meter old(true);
  EXPECT_GE(old.read(kStart, cpu(0), load(1'000)).serving_for, 1h);
  EXPECT_TRUE(old.found_serving());
  Meter blind(false);
  EXPECT_GE(blind.read(kStart, cpu(0), std::nullopt).serving_for, 1h);
}

TEST(Meter, CountsThatGoBackwardsAreARestartAndSayNothingOfThatWindow) {
  Meter meter(true);
  (void)meter.read(kStart, cpu(0.5), load(1'000));
  const auto at_restart = meter.read(kStart + 1s, cpu(0.5), load(10));
  EXPECT_EQ(at_restart.successes_per_second, 0);
  EXPECT_EQ(at_restart.window, 0s);
  EXPECT_EQ(at_restart.serving_for, 0s);
  EXPECT_EQ(meter.counts().restarts, 1U);
  const auto after = meter.read(kStart + 2s, cpu(0.5), load(60));
  EXPECT_DOUBLE_EQ(after.successes_per_second, 50);
  EXPECT_EQ(after.serving_for, 1s);
}

TEST(Meter, AServerThatDoesNotTellHasNoSensor) {
  Meter meter(true);
  (void)meter.read(kStart, cpu(0.5), load(1'000));
  EXPECT_FALSE(meter.read(kStart + 1s, cpu(0.01), no_load(LoadErrc::kUnreachable)).sensor_alive);
  EXPECT_FALSE(meter.read(kStart + 2s, cpu(0.01), std::nullopt).sensor_alive);
  EXPECT_EQ(meter.counts().load_errors[0], 1U);
  // Back, with counts over the whole pause.
  const auto back = meter.read(kStart + 4s, cpu(0.5), load(1'400));
  EXPECT_TRUE(back.sensor_alive);
  EXPECT_DOUBLE_EQ(back.successes_per_second, 100);
}

TEST(Meter, ABrokenProcessorSensorIsDead) {
  Meter meter(false);
  const auto reading = meter.read(kStart, std::unexpected(CpuErrc::kUnreadable), std::nullopt);
  EXPECT_FALSE(reading.sensor_alive);
  EXPECT_FALSE(reading.counts_successes);
  EXPECT_EQ(meter.counts().cpu_errors[static_cast<size_t>(CpuErrc::kUnreadable)], 1U);
}

TEST(Meter, IsQuietWhenNothingIsInFlightAndNothingCame) {
  Meter meter(true);
  (void)meter.read(kStart, cpu(0.5), load(10));
  EXPECT_FALSE(meter.is_quiet());
  (void)meter.read(kStart + 1s, cpu(0.5), load(12));
  EXPECT_FALSE(meter.is_quiet());
  (void)meter.read(kStart + 2s, cpu(0.5), load(12));
  EXPECT_TRUE(meter.is_quiet());
  (void)meter.read(kStart + 3s, cpu(0.5), load(12, 0, 1));
  EXPECT_FALSE(meter.is_quiet());
  (void)meter.read(kStart + 4s, cpu(0.5), no_load(LoadErrc::kTimeout));
  EXPECT_FALSE(meter.is_quiet());
}

TEST(Meter, UtilizationIsNeverMoreThanOne) {
  Meter meter(false);
  EXPECT_EQ(meter.read(kStart, cpu(1.02), std::nullopt).utilization, 1);
}

}  // namespace
}  // namespace spillway::app::agent
