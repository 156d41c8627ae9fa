#include "app/scenario/values.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "app/scenario/compare.h"
#include "app/scenario/record.h"
#include "app/scenario/scenario.h"
#include "app/scenario/verdict.h"

namespace spillway::app {
namespace {

/// Two DSPs; from `sick` at 10 s to the end at 30 s.
Record sample() {
  Record record;
  record.prices = {{"alpha", 2.0}, {"bravo", 1.0}};
  Snapshot& start = record.snapshots["start"];
  start.at_s = 0;
  Snapshot& sick = record.snapshots["sick"];
  sick.at_s = 10;
  sick.exchange = parse_metrics(
      "# TYPE spillway_exchange_auctions_total counter\n"
      "spillway_exchange_auctions_total 100\n"
      "spillway_exchange_dsp_asked_total{dsp=\"alpha\",region=\"r\",path=\"p\"} 100\n"
      "spillway_exchange_dsp_asked_total{dsp=\"bravo\",region=\"r\",path=\"p\"} 100\n");
  Snapshot& end = record.snapshots["end"];
  end.at_s = 30;
  end.exchange = parse_metrics(
      "spillway_exchange_auctions_total 300\n"
      "spillway_exchange_shed_total{level=\"1\"} 30\nspillway_exchange_shed_total{level=\"2\"} 20\n"
      "spillway_exchange_deadline_misses_total 3\n"
      "spillway_exchange_dsp_asked_total{dsp=\"alpha\",region=\"r\",path=\"p\"} 150\n"
      "spillway_exchange_dsp_asked_total{dsp=\"bravo\",region=\"r\",path=\"p\"} 300\n"
      "spillway_exchange_dsp_refused_total{dsp=\"alpha\",reason=\"circuit_open\"} 150\n"
      "spillway_exchange_dsp_wins_total{dsp=\"alpha\"} 30\n"
      "spillway_exchange_dsp_wins_total{dsp=\"bravo\"} 60\n"
      "spillway_exchange_client_events_total{dsp=\"alpha\",event=\"request_sent\"} 149\n"
      "spillway_exchange_client_events_total{dsp=\"bravo\",event=\"request_sent\"} 300\n"
      "spillway_exchange_answer_time_seconds_bucket{le=\"0.1\"} 90\n"
      "spillway_exchange_answer_time_seconds_bucket{le=\"0.2\"} 100\n"
      "spillway_exchange_answer_time_seconds_bucket{le=\"+Inf\"} 100\n");
  end.farm = parse_metrics(
      "spillway_farm_calls_total{dsp=\"alpha\",answer=\"bid\"} 100\n"
      "spillway_farm_calls_total{dsp=\"alpha\",answer=\"hung\"} 48\n"
      "spillway_farm_calls_total{dsp=\"bravo\",answer=\"bid\"} 301\n");
  end.load = parse_numbers(
      R"({"offered":200,"dropped":2,"ended":198,"answers":{"bid":99,"none":1,"house":98}})");
  end.excused_misses = 1;
  record.changes = {{.at_s = 5, .dsp = "alpha", .to = "open"},
                    {.at_s = 12.5, .dsp = "alpha", .to = "open"},
                    {.at_s = 20, .dsp = "alpha", .to = "closed"}};
  return record;
}

double value(const Expectation& expect) { return measure(sample(), expect); }

TEST(ScenarioValues, SpeakOfTheStretchBetweenTwoSteps) {
  EXPECT_EQ(value({.value = "auctions"}), 300);
  EXPECT_EQ(value({.value = "auctions", .from = "sick"}), 200);
  EXPECT_EQ(value({.value = "opened_s", .dsp = "alpha", .from = "sick"}), 2.5);
  EXPECT_EQ(value({.value = "opened_s", .dsp = "alpha"}), 5);
  EXPECT_EQ(value({.value = "opens", .dsp = "alpha"}), 2);
  EXPECT_EQ(value({.value = "opens", .except = "alpha"}), 0);
  EXPECT_EQ(value({.value = "closed_s", .dsp = "alpha", .from = "sick"}), 10);
}

TEST(ScenarioValues, SpeakOfOneDspOrOfAllButOne) {
  EXPECT_EQ(value({.value = "asked_ratio", .dsp = "alpha", .from = "sick"}), 0.25);
  EXPECT_EQ(value({.value = "asked_ratio", .except = "alpha", .from = "sick"}), 1);
  EXPECT_DOUBLE_EQ(value({.value = "asked_ratio", .from = "sick"}), 250.0 / 400);
}

TEST(ScenarioValues, DifferencesOfTwoDspsDoNotHideEachOther) {
  EXPECT_EQ(value({.value = "unaccounted_calls"}), 2) << "one too few and one too many";
  EXPECT_EQ(value({.value = "unaccounted_calls", .dsp = "bravo"}), 1);
}

TEST(ScenarioValues, CountWhatCallersSawAndWhatWasExcused) {
  EXPECT_EQ(value({.value = "deadline_misses"}), 2);
  EXPECT_DOUBLE_EQ(value({.value = "deadline_miss_ratio"}), 2.0 / 300);
  EXPECT_DOUBLE_EQ(value({.value = "answered_ratio"}), 197.0 / 198);
  EXPECT_EQ(value({.value = "unanswered"}), 1);
  EXPECT_EQ(value({.value = "dropped_ratio"}), 0.01);
  EXPECT_EQ(value({.value = "shed_ratio"}), 50.0 / 300);
  EXPECT_DOUBLE_EQ(value({.value = "answer_p99_ms"}), 190);
  EXPECT_DOUBLE_EQ(value({.value = "revenue_cpm"}), 0.4);
}

TEST(ScenarioValues, WhatNeverHappenedAndWhatIsUnknownMeetNoUpperBound) {
  const double never = value({.value = "opened_s", .dsp = "bravo"});
  EXPECT_TRUE(std::isinf(never));
  EXPECT_FALSE((Expectation{.value = "opened_s", .max = 5}).met_by(never));
  EXPECT_EQ(measured_text(never), "never");
  const double unknown = value({.value = "auctions", .from = "nowhere"});
  EXPECT_TRUE(std::isnan(unknown));
  EXPECT_FALSE((Expectation{.value = "auctions", .min = 0}).met_by(unknown));
  EXPECT_EQ(measured_text(unknown), "not measured");
}

TEST(ScenarioValues, GoodputIsJudgedByWhatRefusalsLeaveOfCapacity) {
  Record record = sample();
  record.capacity_rate = 10;
  record.times_capacity = 2;
  record.auction_cpu_s = 0.01;
  record.snapshots["end"].exchange_cpu.ran_s = 1.6;  // 150 served and 50 shed, from `sick` on
  const Expectation cost{.value = "refusal_cost_ratio", .from = "sick"};
  EXPECT_NEAR(measure(record, cost), 0.2, 1e-9);
  const Expectation goodput{.value = "goodput_ratio", .from = "sick"};
  EXPECT_NEAR(measure(record, goodput), 7.5 / (10 * (1 - 2 * 0.2) / (1 - 0.2)), 1e-9);
}

TEST(ScenarioComparison, TellsDetectionFromFalseAlarmAndRecovery) {
  Scenario scenario;
  scenario.steps = {{.name = "sick", .kind = ScenarioStep::Kind::kFault, .dsp = "alpha"},
                    {.name = "well", .kind = ScenarioStep::Kind::kClear, .dsp = "alpha"}};
  Record record = sample();
  record.snapshots["well"] = record.snapshots["sick"];
  record.snapshots["well"].at_s = 15;
  record.changes.push_back({.at_s = 16, .dsp = "bravo", .to = "open"});
  const auto figures = figures_of(scenario, {.name = "x"}, record, sample());
  EXPECT_EQ(figures.detection_s, 2.5);
  EXPECT_EQ(figures.recovery_s, 5);
  EXPECT_EQ(figures.false_opens, 2) << "alpha at 5 s, before its fault, and bravo";
  EXPECT_EQ(figures.revenue_kept_ratio, 1);
}

TEST(Verdict, ThatSomethingWasNotMetSaysWhatCircuitsDid) {
  Record record = sample();
  record.changes.front().why = "rule slow, 8 bad of 10: \"slow\"";
  Scenario scenario;
  scenario.about = "A day.";
  scenario.expect = {{.value = "opens", .max = 0}, {.value = "dropped_ratio", .max = 1}};
  auto findings = judge(scenario, record);
  const std::string change = "      5.0 s  alpha open: rule slow, 8 bad of 10: \"slow\"\n";
  EXPECT_NE(findings_text("day", scenario, record, findings).find(change), std::string::npos);
  const std::string json = findings_json("day", false, record, findings, "");
  EXPECT_NE(json.find(R"("changes_seen":3,"changes":[{"at_s":5.000,"dsp":"alpha","to":"open",)"
                      R"("why":"rule slow, 8 bad of 10: \"slow\""},)"),
            std::string::npos)
      << json;
  record.changes.resize(1'000);
  EXPECT_NE(findings_text("day", scenario, record, findings).find("and 960 changes more\n"),
            std::string::npos);
  for (Finding& finding : findings) {
    finding.met = true;
  }
  EXPECT_EQ(findings_text("day", scenario, record, findings).find("alpha open"), std::string::npos);
}

}  // namespace
}  // namespace spillway::app
