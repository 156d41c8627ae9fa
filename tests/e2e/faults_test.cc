#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/dsp/fault_table.h"
#include "e2e/bad_day.h"
#include "e2e/sockets.h"

// Every row of the fault table at once, each on a DSP of its own, and three healthy controls: what
// happens to each circuit, and that nobody else notices. Guard times shortened as in the demo.

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;
using app::FaultReaction;
using app::FaultRow;

#ifdef __SANITIZE_THREAD__  // The farm itself is slow then: at 150/s its DSPs are rightly opened.
constexpr int kRate = 40;
constexpr double kSamples = 400;
#else
constexpr int kRate = 150;
constexpr double kSamples = 1500;  // Answers of a control in an interval.
#endif
constexpr double kOpenBarS = 5;  // DESIGN 6: every call failing, at 5/s and more.
constexpr double kClosedBarS = 60;
constexpr double kGrowthS = 30;  // Of the fault that opens late.
constexpr double kP99BarMs = 5;
constexpr int kTries = 3;
constexpr const char* kLatency = "spillway_exchange_dsp_latency_seconds";
constexpr const char* kOutcomes = "spillway_exchange_dsp_outcomes_total";
constexpr const char* kHealthy = ", latency: { kind: lognormal, median: 22ms, sigma: 0.05 }";

std::vector<FaultRow> documented() {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/load_and_farm.md");
  return app::parse_fault_table(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string dsp_of(const FaultRow& row) {
  std::string name;
  for (const char c : row.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

std::string label(std::string_view name) { return fmt::format("dsp=\"{}\"", name); }

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(rows_.empty());
    std::vector<BadDay::Dsp> dsps;
    dsps.reserve(rows_.size() + controls_.size());
    for (const auto& row : rows_) {
      dsps.push_back({.name = dsp_of(row), .more = kHealthy});
    }
    for (const auto& name : controls_) {
      dsps.push_back({.name = name, .more = kHealthy, .apart = true});
    }
    day_ = std::make_unique<BadDay>(dsps, "guards: { open_min: 2s, open_max: 4s, ramp: 6s }\n");
    ASSERT_EQ(day_->error(), "");
    day_->start_load(kRate);
  }

  double answered(const Metrics& now, std::string_view dsp) const {
    return sum_of(now, std::string(kLatency) + "_count", {label(dsp)});
  }

  // Until the controls have answered `count` more times; what /metrics said then.
  Metrics interval(const Metrics& since, double count) {
    EXPECT_TRUE(day_->until(60s, [&](const Metrics& now) {
      return std::ranges::all_of(controls_, [&](const auto& name) {
        return answered(now, name) - answered(since, name) >= count;
      });
    }));
    return day_->last_scrape();
  }

  [[nodiscard]] bool reacted(const FaultRow& row, Clock::time_point injected) const {
    const auto dsp = dsp_of(row);
    switch (row.reaction) {
      case FaultReaction::kOpens:
      case FaultReaction::kOpensLate:
        return day_->seconds_to(dsp, "open", injected) >= 0;
      case FaultReaction::kAlertsOnly:
        return day_->seconds_to(dsp, "raised", injected) >= 0;
      case FaultReaction::kThrottled:
      case FaultReaction::kNothing:
        return true;
    }
    return true;
  }

  [[nodiscard]] bool recovered(const FaultRow& row, Clock::time_point cleared) const {
    const auto dsp = dsp_of(row);
    switch (row.reaction) {
      case FaultReaction::kOpens:
      case FaultReaction::kOpensLate:
        return day_->seconds_to(dsp, "closed", cleared) >= 0;
      case FaultReaction::kAlertsOnly:
        return day_->seconds_to(dsp, "cleared", cleared) >= 0;
      case FaultReaction::kThrottled:
      case FaultReaction::kNothing:
        return true;
    }
    return true;
  }

  // The largest difference of a control's p99, in ms. Buckets are 5 ms wide there: a step of the
  // whole tail by less than that may read as nothing, one by more does not.
  double moved_ms(const Metrics& begin, const Metrics& middle, const Metrics& end) const {
    double worst = 0;
    for (const auto& name : controls_) {
      const double before = quantile_between(begin, middle, kLatency, label(name), 0.99) * 1e3;
      const double during = quantile_between(middle, end, kLatency, label(name), 0.99) * 1e3;
      std::printf("%s: p99 %.1f ms before, %.1f ms under faults\n", name.c_str(), before, during);
      worst = std::max(worst, std::abs(during - before));
    }
    return worst;
  }

  void judge(const FaultRow& row, Clock::time_point injected, Clock::time_point cleared,
             const Metrics& before, const Metrics& during) const {
    const auto dsp = dsp_of(row);
    const double opened = day_->seconds_to(dsp, "open", injected);
    const double alert = day_->seconds_to(dsp, "raised", injected);
    const double back = row.reaction == FaultReaction::kAlertsOnly
                            ? day_->seconds_to(dsp, "cleared", cleared)
                            : day_->seconds_to(dsp, "closed", cleared);
    const auto outcome = fmt::format("outcome=\"{}\"", row.outcome);
    const double hit = sum_of(during, kOutcomes, {label(dsp), outcome}) -
                       sum_of(before, kOutcomes, {label(dsp), outcome});
    std::printf("%-28s opens %5.1f s  alert %5.1f s  over after %5.1f s  %5.0f %s\n",
                row.name.c_str(), opened, alert, back, hit, row.outcome.c_str());
    EXPECT_GT(hit, 0) << row.name << " has no call with the outcome of the table";
    if (row.reaction == FaultReaction::kOpens || row.reaction == FaultReaction::kOpensLate) {
      const bool late = row.reaction == FaultReaction::kOpensLate;
      EXPECT_GE(opened, 0) << row.name << " does not open";
      EXPECT_LE(opened, kOpenBarS + (late ? kGrowthS : 0)) << row.name;
      EXPECT_GE(back, 0) << row.name << " is not closed again";
      EXPECT_LE(back, kClosedBarS) << row.name;
      return;
    }
    EXPECT_LT(opened, 0) << row.name << " opens";
    if (row.reaction == FaultReaction::kAlertsOnly) {
      EXPECT_GE(alert, 0) << row.name << " raises no alert";
      EXPECT_GE(back, 0) << row.name << " stays alerted";
    } else {
      EXPECT_LT(alert, 0) << row.name << " raises an alert";
    }
  }

  // One round: healthy, every fault, healthy again. The move of the controls' p99 in ms.
  double round() {
    const Metrics begin = day_->last_scrape();
    const Metrics before = interval(begin, kSamples);
    const auto injected = Clock::now();
    for (const auto& row : rows_) {
      EXPECT_TRUE(day_->inject(dsp_of(row), row.call)) << row.call;
    }
    Metrics during = interval(before, kSamples);
    (void)day_->until(40s, [&](const Metrics&) {
      return std::ranges::all_of(rows_, [&](const auto& row) { return reacted(row, injected); });
    });
    const auto cleared = Clock::now();
    day_->clear_all();
    (void)day_->until(70s, [&](const Metrics&) {
      return std::ranges::all_of(rows_, [&](const auto& row) { return recovered(row, cleared); });
    });
    for (const auto& row : rows_) {
      judge(row, injected, cleared, before, during);
    }
    for (const auto& name : controls_) {
      EXPECT_LT(day_->seconds_to(name, "", injected), 0) << name << " was changed";
    }
    return moved_ms(begin, before, during);
  }

  std::vector<FaultRow> rows_ = documented();
  std::vector<std::string> controls_{"healthy-1", "healthy-2", "healthy-3"};
  std::unique_ptr<BadDay> day_;
};

TEST_F(Faults, EachMeetsTheReactionOfTheTableAndNobodyElseNotices) {
  // Baselines need 200 latencies, a usual bid rate needs 200 answers.
  ASSERT_TRUE(day_->until(60s, [&](const Metrics& now) {
    return std::ranges::all_of(rows_,
                               [&](const auto& row) { return answered(now, dsp_of(row)) >= 600; });
  })) << "the load does not get through";
  // A p99 is 15 samples of 1 500: other work on the machine can move it, but not each time.
  double moved = 1e9;
  for (int i = 0; i < kTries && moved >= kP99BarMs && !HasFailure(); ++i) {
    moved = std::min(moved, round());
  }
  EXPECT_LT(moved, kP99BarMs) << "ms that the p99 of a healthy DSP moved, at best";
  const auto report = day_->end_load();
  std::printf("load: %s\n", report.c_str());
  EXPECT_EQ(day_->misses(), 0) << day_->excused_misses() << " more while it was starved";
  EXPECT_EQ(day_->exchange().stop(), 0);
}

}  // namespace
}  // namespace spillway::e2e
