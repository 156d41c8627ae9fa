#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/exchange_config.h"
#include "app/config/reader.h"
#include "app/demo/demo_plan.h"
#include "app/demo/demo_report.h"
#include "app/demo/demo_state.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::app {
namespace {

DemoPlan plan_of(uint32_t seconds) {
  DemoPlan plan;
  plan.seconds = seconds;
  return plan;
}

/// A log line of the exchange.
std::string transition(const std::string& from, const std::string& to) {
  return "2026-01-31T23:59:59.123Z WARN event=circuit_transition key=delta/default/display from=" +
         from + " to=" + to + R"( epoch=2 rule=r1_fast calls=31 bad=24 reason="24 of \"31\" bad")";
}

DemoState good_run() {
  DemoState state;
  state.on_metrics("spillway_exchange_auctions_total 9000\n");
  state.on_log_line(11.2, transition("closed", "open"));
  state.on_log_line(25.0, transition("ramping", "closed"));
  return state;
}

TEST(DemoPlan, WritesAConfigurationThatTheExchangeTakes) {
  for (const uint32_t seconds : {30U, 120U}) {
    std::vector<ConfigProblem> problems;
    const auto config = read_exchange_config(
        plan_of(seconds).exchange_yaml({{.name = "alpha", .listen = "127.0.0.1:9101"}}), problems);
    for (const auto& problem : problems) {
      ADD_FAILURE() << to_string(problem, "exchange.yaml");
    }
    EXPECT_EQ(config.snapshot.dsps.size(), 1);
  }
}

TEST(DemoPlan, ShortensGuardTimesBelow120SecondsOnly) {
  EXPECT_TRUE(plan_of(119).shortened());
  EXPECT_NE(plan_of(119).exchange_yaml({}).find("ramp: 6s"), std::string::npos);
  EXPECT_FALSE(plan_of(120).shortened());
  EXPECT_EQ(plan_of(120).exchange_yaml({}).find("guards:"), std::string::npos);
}

TEST(DemoState, ReadsATransitionFromALogLine) {
  DemoState state;
  state.on_log_line(11.2, transition("closed", "open"));
  state.on_log_line(11.3, "2026-01-31T23:59:59.123Z INFO event=reloaded dsps=5");
  ASSERT_EQ(state.events.size(), 1);
  EXPECT_EQ(state.events[0].key, "delta/default/display");
  EXPECT_EQ(state.events[0].from, "closed");
  EXPECT_EQ(state.events[0].to, "open");
  EXPECT_EQ(state.events[0].rule, "r1_fast");
  EXPECT_EQ(state.events[0].text, R"(24 of "31" bad)");
  EXPECT_EQ(state.first("delta", "open", 10), 11.2);
  EXPECT_EQ(state.first("delta", "open", 12), -1);
  EXPECT_EQ(state.first("del", "open", 0), -1) << "a DSP's name is the whole first part of a key";
}

TEST(DemoState, ReadsTheGeneratorsLineAndTheExchangesMetrics) {
  DemoState state;
  EXPECT_TRUE(state.on_load_line(
      R"({"dropped":1,"late":2,"offered":30,"rate_achieved":29.5,"answers":{"bid":20,"house":4},)"
      R"("latency_ms":{"p50":12.5}})"));
  EXPECT_EQ(state.answers["bid"], 20);
  EXPECT_EQ(state.answers["house"], 4);
  EXPECT_EQ(state.latency_ms["p50"], 12.5);
  EXPECT_EQ(state.dropped, 1);
  EXPECT_FALSE(state.on_load_line("not JSON"));
  state.on_metrics(
      "# HELP x y\nspillway_exchange_auctions_total 30\n"
      "spillway_exchange_deadline_misses_total{worker=\"0\"} 1\n"
      "spillway_exchange_deadline_misses_total{worker=\"1\"} 2\n"
      "spillway_exchange_auctions_total_other 5\n");
  EXPECT_EQ(state.auctions, 30);
  EXPECT_EQ(state.deadline_misses, 3);
}

TEST(DemoState, RecentAnswersAreThoseOfTheLastThreeSeconds) {
  DemoState state;
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(state.on_load_line(R"({"offered":1,"answers":{"bid":)" + std::to_string(100 * i) +
                                   R"(,"house":)" + std::to_string(i < 9 ? 0 : 5) + "}}"));
  }
  EXPECT_EQ(state.recent["bid"], 600);
  EXPECT_EQ(state.recent["house"], 5);
}

TEST(DemoState, ReadsCircuits) {
  DemoState state;
  ASSERT_TRUE(state.on_circuits(
      R"({"circuits":[{"key":"alpha/default/display","state":"ramping","admit_ratio":0.35,)"
      R"("in_flight":7,"p50_ms":20.5,"outcomes":{"ok":5},"refused":{"520":9}}]})"));
  ASSERT_EQ(state.circuits.size(), 1);
  EXPECT_EQ(state.circuits[0].dsp(), "alpha");
  EXPECT_EQ(state.circuits[0].state, "ramping");
  EXPECT_EQ(state.circuits[0].admit_ratio, 0.35);
  EXPECT_EQ(state.circuits[0].refused["520"], 9);
  EXPECT_FALSE(state.on_circuits("{}"));
}

TEST(DemoReport, ARunIsGoodOnlyWhenTheCircuitOpenedAndClosedWithoutAMiss) {
  const DemoPlan plan = plan_of(30);
  EXPECT_EQ(failure_of(plan, good_run()), "");
  DemoState missed = good_run();
  missed.deadline_misses = 1;
  EXPECT_NE(failure_of(plan, missed), "");
  DemoState never_closed = good_run();
  never_closed.events.pop_back();
  EXPECT_NE(failure_of(plan, never_closed), "");
  DemoState opened_late = good_run();
  opened_late.events[0].at_s = 20;
  EXPECT_NE(failure_of(plan, opened_late), "");
  EXPECT_NE(failure_of(plan, DemoState{}), "");
}

TEST(DemoReport, TheSummaryIsOneJsonObjectWithAndWithoutTheFarm) {
  for (const std::string farm : {"", "{\"dsps\":[]}\n"}) {
    const openrtb::Padded summary(summary_json(plan_of(30), good_run(), farm));
    openrtb::Document json;
    ASSERT_TRUE(json.walk(summary.view())) << summary.view();
    EXPECT_EQ(json.integer(json.find(json.root(), "auctions")), 9000);
    EXPECT_EQ(json.node(json.find(json.root(), "transitions")).children, 2);
  }
}

TEST(DemoReport, TheScreenNamesTheCircuitsAndTheStory) {
  DemoState state = good_run();
  ASSERT_TRUE(state.on_circuits(
      R"({"circuits":[{"key":"delta/default/display","state":"open","outcomes":{}}]})"));
  const std::string screen = screen_text(plan_of(30), state);
  EXPECT_NE(screen.find("delta"), std::string::npos);
  EXPECT_NE(screen.find("ramping -> closed"), std::string::npos);
  EXPECT_NE(screen.find("shortened"), std::string::npos);
}

}  // namespace
}  // namespace spillway::app
