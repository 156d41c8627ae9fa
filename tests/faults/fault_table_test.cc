#include "app/dsp/fault_table.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/reader.h"
#include "app/dsp/farm_config.h"
#include "base/time.h"
#include "faults/virtual_dsp.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"
#include "workload/fault.h"

// The table of docs/load_and_farm.md against full-length timers: default settings, virtual time.

namespace spillway::faults {
namespace {

using app::FaultReaction;
using resilience::Outcome;
using resilience::State;

constexpr base::Duration kWarm = 3min;
constexpr double kNever = 999;

std::vector<app::FaultRow> documented() {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/load_and_farm.md");
  auto rows = app::parse_fault_table(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_FALSE(rows.empty());
  return rows;
}

workload::Fault fault_of(const app::FaultRow& row) {
  std::vector<app::ConfigProblem> problems;
  return app::read_fault_call(row.call, problems).fault;
}

Outcome outcome_named(const std::string& name) {
  for (int i = 0; i < resilience::kOutcomes; ++i) {
    if (to_string(static_cast<Outcome>(i)) == name) {
      return static_cast<Outcome>(i);
    }
  }
  ADD_FAILURE() << "the table has an unknown outcome: " << name;
  return Outcome::kAbandoned;
}

double seconds(std::optional<base::Duration> time) {
  return time ? base::to_ms(*time) / 1000 : kNever;
}

struct Spread {
  std::vector<double> times;

  double worst() {
    std::ranges::sort(times);
    return times.empty() ? 0 : times.back();
  }

  double median() {
    std::ranges::sort(times);
    return times.empty() ? 0 : times[times.size() / 2];
  }
};

struct OpenBar {
  double rate;
  double open_s;           ///< DESIGN 6, every call failing.
  double open_overload_s;  ///< Every call overload: half of the window's calls are excused.
  int seeds;
};

constexpr OpenBar kBars[] = {{2, 10, 10, 12}, {5, 5, 10, 12}, {20, 5, 5, 12}, {100, 5, 5, 3}};

TEST(FaultTable, WhatOpensOpensInTimeAndIsClosedWithinAMinuteOfRecovery) {
  std::printf("%-26s %6s  open s median worst  closed s median worst\n", "fault", "calls/s");
  for (const auto& row : documented()) {
    if (row.reaction != FaultReaction::kOpens) {
      continue;
    }
    for (const auto& bar : kBars) {
      Spread open;
      Spread closed;
      for (int seed = 1; seed <= bar.seeds; ++seed) {
        VirtualDsp dsp(static_cast<uint64_t>(seed));
        dsp.run(kWarm, bar.rate);
        ASSERT_EQ(dsp.opened(), 0) << dsp.log.front().reason;
        dsp.inject(fault_of(row));
        open.times.push_back(seconds(dsp.until(State::kOpen, 60s, bar.rate)));
        EXPECT_GT(dsp.outcomes(outcome_named(row.outcome)), 0U) << row.name;
        // Recovery comes at any moment of the probing.
        dsp.run(base::Duration(static_cast<int64_t>(dsp.rng.uniform() * 90e9)), bar.rate);
        dsp.clear();
        closed.times.push_back(seconds(dsp.until(State::kClosed, 300s, bar.rate)));
      }
      std::printf("%-26s %6.0f  %13.1f %5.1f  %15.1f %5.1f\n", row.name.c_str(), bar.rate,
                  open.median(), open.worst(), closed.median(), closed.worst());
      const bool overload = outcome_named(row.outcome) == Outcome::kOverload;
      EXPECT_LE(open.worst(), overload ? bar.open_overload_s : bar.open_s)
          << row.name << " at " << bar.rate << "/s";
      EXPECT_LE(closed.worst(), 60) << row.name << " at " << bar.rate << "/s";
    }
  }
}

TEST(FaultTable, WhatOpensLateIsOpenOnceTheFaultHasGrown) {
  for (const auto& row : documented()) {
    if (row.reaction != FaultReaction::kOpensLate) {
      continue;
    }
    const auto fault = fault_of(row);
    const double grown_s = base::to_ms(fault.over) / 1000;
    for (const auto& bar : kBars) {
      VirtualDsp dsp(13);
      dsp.run(kWarm, bar.rate);
      dsp.inject(fault);
      const double opened_s = seconds(dsp.until(State::kOpen, 5min, bar.rate));
      EXPECT_LE(opened_s, grown_s + bar.open_s) << row.name << " at " << bar.rate << "/s";
      EXPECT_GT(dsp.outcomes(outcome_named(row.outcome)), 0U) << row.name;
      dsp.clear();
      EXPECT_LE(seconds(dsp.until(State::kClosed, 5min, bar.rate)), 60) << row.name;
      std::printf("%-26s %6.0f  open after %.1f s of a growth of %.0f s\n", row.name.c_str(),
                  bar.rate, opened_s, grown_s);
    }
  }
}

TEST(FaultTable, WhatOnlyAlertsStaysClosedAndAlertsUntilItIsOver) {
  for (const auto& row : documented()) {
    if (row.reaction != FaultReaction::kAlertsOnly) {
      continue;
    }
    for (const double rate : {5.0, 20.0, 100.0}) {
      VirtualDsp dsp(11);
      dsp.run(kWarm, rate);
      ASSERT_FALSE(dsp.alerting());
      dsp.inject(fault_of(row));
      const auto start = dsp.now;
      dsp.run(2min, rate, [&] { return dsp.alerting(); });
      EXPECT_TRUE(dsp.alerting()) << row.name << " at " << rate << "/s";
      const double raised_s = base::to_ms(dsp.now - start) / 1000;
      dsp.run(10min, rate);
      const auto over = dsp.now;
      dsp.clear();
      dsp.run(2min, rate, [&] { return !dsp.alerting(); });
      EXPECT_FALSE(dsp.alerting()) << row.name << " at " << rate << "/s";
      std::printf("%-26s %6.0f  alert after %.1f s, cleared after %.1f s\n", row.name.c_str(), rate,
                  raised_s, base::to_ms(dsp.now - over) / 1000);
      EXPECT_EQ(dsp.alert_log.size(), 2U) << "edges only";
      EXPECT_EQ(dsp.opened(), 0) << row.name;
    }
  }
}

TEST(FaultTable, WhatThrottlesOrIsNothingNeverOpensAndNeverAlerts) {
  for (const auto& row : documented()) {
    if (row.reaction != FaultReaction::kThrottled && row.reaction != FaultReaction::kNothing) {
      continue;
    }
    for (const double rate : {2.0, 5.0, 20.0, 100.0}) {
      VirtualDsp dsp(12);
      dsp.run(kWarm, rate);
      dsp.inject(fault_of(row));
      const uint64_t before = dsp.outcomes(outcome_named(row.outcome));
      dsp.run(20min, rate);
      EXPECT_EQ(dsp.opened(), 0) << row.name << " at " << rate << "/s: " << dsp.log.front().reason;
      EXPECT_TRUE(dsp.alert_log.empty()) << row.name;
      EXPECT_GT(dsp.outcomes(outcome_named(row.outcome)), before) << row.name;
    }
  }
}

}  // namespace
}  // namespace spillway::faults
