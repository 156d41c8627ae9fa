#include "capacity/autoscaling.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/time.h"
#include "capacity/fleet_test.h"
#include "capacity/law_settings.h"

namespace spillway::capacity {
namespace {

using std::chrono::minutes;

constexpr base::Instant kBegin{std::chrono::hours(1)};

FleetLoad load_of(uint32_t servers, double demand_over_capacity) {
  return {.servers = servers,
          .mean_utilization = std::min(1.0, demand_over_capacity),
          .demand_per_second = demand_over_capacity * 1000 * servers,
          .capacity_per_second = 1000.0 * servers};
}

TEST(Autoscaling, AsManyServersAsBringTheMetricToItsTarget) {
  ScalingSettings settings;
  EXPECT_EQ(servers_needed(settings, load_of(10, 0.65)), 10);
  EXPECT_EQ(servers_needed(settings, load_of(10, 0.66)), 11);
  EXPECT_EQ(servers_needed(settings, load_of(10, 1.30)), 20);
  EXPECT_EQ(servers_needed(settings, load_of(10, 0.325)), 5);
  EXPECT_EQ(servers_needed(settings, FleetLoad{.servers = 10}), 10);  // Nothing known.
  settings.max_servers = 15;
  EXPECT_EQ(servers_needed(settings, load_of(10, 1.30)), 15);
}

TEST(Autoscaling, MeanCpuHidesWhatIsBeyondFullAndDemandDoesNot) {
  ScalingSettings cpu;
  cpu.metric = ScalingMetric::kMeanUtilization;
  EXPECT_EQ(servers_needed(cpu, load_of(10, 2.6)), 16);  // 1 / 0.65, whatever the demand.
  EXPECT_EQ(servers_needed({}, load_of(10, 2.6)), 40);
}

TEST(Autoscaling, OutAfterMinutesAboveInAfterMoreBelow) {
  Autoscaler scaler({});
  EXPECT_EQ(scaler.step(kBegin, load_of(10, 0.8)).reason, ScalingReason::kWaiting);
  EXPECT_EQ(scaler.step(kBegin + minutes(2), load_of(10, 0.8)).reason, ScalingReason::kWaiting);
  const auto out = scaler.step(kBegin + minutes(3), load_of(10, 0.8));
  EXPECT_EQ(out.reason, ScalingReason::kOut);
  EXPECT_EQ(out.servers, 13);
  EXPECT_EQ(scaler.step(kBegin + std::chrono::seconds(200), load_of(10, 0.8)).reason,
            ScalingReason::kCooldown);
  EXPECT_EQ(scaler.step(kBegin + minutes(5), load_of(13, 0.62)).reason, ScalingReason::kAtTarget);
  EXPECT_EQ(scaler.step(kBegin + minutes(6), load_of(13, 0.5)).reason, ScalingReason::kWaiting);
  EXPECT_EQ(scaler.step(kBegin + minutes(20), load_of(13, 0.5)).reason, ScalingReason::kWaiting);
  const auto in = scaler.step(kBegin + minutes(21), load_of(13, 0.5));
  EXPECT_EQ(in.reason, ScalingReason::kIn);
  EXPECT_EQ(in.servers, 10);
}

TEST(Autoscaling, AMinuteAtTheTargetBeginsTheWaitAnew) {
  Autoscaler scaler({});
  scaler.step(kBegin, load_of(10, 0.8));
  scaler.step(kBegin + minutes(2), load_of(10, 0.6));
  EXPECT_EQ(scaler.step(kBegin + minutes(4), load_of(10, 0.8)).reason, ScalingReason::kWaiting);
}

TEST(Autoscaling, ItsLimitsStopItAndSaySo) {
  ScalingSettings settings;
  settings.out_after = minutes(0);
  settings.max_servers = 10;
  Autoscaler scaler(settings);
  const auto decision = scaler.step(kBegin, load_of(10, 0.9));
  EXPECT_EQ(decision.reason, ScalingReason::kAtLimit);
  EXPECT_EQ(decision.servers, 10);
}

TEST(Autoscaling, SettingsOutOfRangeAreNamed) {
  ScalingSettings settings;
  settings.target = 0;
  settings.in_below = 1;
  settings.cooldown = std::chrono::hours(2);
  settings.min_servers = 2000;
  std::string keys;
  for (const auto& problem : check(settings)) {
    keys += problem.key + " ";
  }
  EXPECT_EQ(keys, "target in_below cooldown min_servers ");
}

TEST(Autoscaling, TheLoadOfAFleetIsReadFromItsSamples) {
  FleetSettings settings;
  settings.law.period = seconds(2);
  settings.stale_after = seconds(6);
  FleetModel fleet(settings);
  fleet.add("a", "x", 1000);
  fleet.add("a", "y", 3000);
  fleet.add("b", "z", 5000);
  fleet.run(minutes(2),
            [](const std::string& zone, base::Instant) { return zone == "a" ? 2000 : 3000; });
  const auto load = fleet_load(fleet.view(), fleet.now(), "a");
  EXPECT_EQ(load.servers, 2);
  EXPECT_NEAR(load.demand_per_second, 2000, 20);
  EXPECT_NEAR(load.mean_utilization, measure(ScalingMetric::kDemandOverCapacity, load), 0.02);
  EXPECT_EQ(fleet_load(fleet.view(), fleet.now(), "").servers, 3);
  EXPECT_EQ(fleet_load(fleet.view(), fleet.now() + minutes(1), "").servers, 0);
}

/// A fleet steered by the set-point, at a demand that saturates some of it.
struct Stuck {
  FleetLoad load;
  double dropped = 0;
};

Stuck steered_by_setpoint(double demand) {
  FleetSettings settings;
  settings.law.law = LawKind::kSetpoint;
  settings.law.min_weight = 10;
  settings.own_delay = seconds(1);
  settings.mean_delay = seconds(1);
  settings.stale_after = seconds(6);
  FleetModel fleet(settings);
  fleet.add_standard_fleet();
  fleet.run(minutes(15), steady(fleet.capacity(), demand));
  fleet.forget_counts();
  fleet.run(minutes(5), steady(fleet.capacity(), demand));
  return {.load = fleet_load(fleet.view(), fleet.now(), "a"), .dropped = fleet.dropped_share()};
}

TEST(Autoscaling, OnMeanCpuASetPointFleetDropsTrafficAndNeverGrows) {
  bool seen = false;
  for (double demand = 0.68; demand < 0.80 && !seen; demand += 0.02) {
    const Stuck stuck = steered_by_setpoint(demand);
    if (stuck.load.saturated_share < 0.05 || stuck.load.saturated_share > 0.13) {
      continue;
    }
    seen = true;
    const double predicted = stuck_mean(0.65, stuck.load.saturated_share);
    EXPECT_NEAR(stuck.load.mean_utilization, predicted, 0.04);
    EXPECT_GT(stuck.dropped, 0.003);
    ScalingSettings cpu;
    cpu.metric = ScalingMetric::kMeanUtilization;
    cpu.target = 0.75;
    Autoscaler by_cpu(cpu);
    ScalingSettings truth;
    Autoscaler by_truth(truth);
    bool grew = false;
    for (int minute = 0; minute < 60; ++minute) {
      const auto decision = by_cpu.step(kBegin + minutes(minute), stuck.load);
      grew = grew || decision.reason == ScalingReason::kOut;
    }
    EXPECT_FALSE(grew);
    by_truth.step(kBegin, stuck.load);
    EXPECT_EQ(by_truth.step(kBegin + minutes(3), stuck.load).reason, ScalingReason::kOut);
  }
  EXPECT_TRUE(seen);
}

TEST(Autoscaling, TheStuckMeanIsTheSetPointAndItsSaturatedRest) {
  EXPECT_NEAR(stuck_mean(0.65, 0.10), 0.685, 1e-9);
  EXPECT_NEAR(stuck_mean(0.65, 0.20), 0.720, 1e-9);
}

}  // namespace
}  // namespace spillway::capacity
