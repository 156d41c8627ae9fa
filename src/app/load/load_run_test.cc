#include "app/load/load_run.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/load/capacity.h"
#include "app/load/outputs.h"
#include "app/load/report.h"
#include "app/load/report_html.h"
#include "app/load/run_file.h"
#include "app/load/stalling_server.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "workload/comparison.h"
#include "workload/corpus.h"
#include "workload/gates.h"
#include "workload/rate_profile.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

/// The server lives on the home reactor, the workers on threads of their own.
class LoadRunTest : public testing::Test {
 protected:
  LoadSettings settings(double rate, base::Duration duration) {
    LoadSettings made;
    made.targets = {{.port = server_.port()}};
    made.arrivals = {.profile = workload::RateProfile::constant(rate, duration)};
    made.late_after = 300ms;  // the machine under test may be busy with other tests
    made.timeout = 2s;
    return made;
  }

  RunSummary run(const LoadSettings& load, size_t workers = 1) {
    LoadRun run(reactor_, load, &corpus_, workers);
    run.start([this] { reactor_.stop(); });
    reactor_.run();
    return run.summary();
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  StallingServer server_{reactor_};
  workload::Corpus corpus_ = workload::Corpus::generate({.requests = 64});
};

TEST_F(LoadRunTest, OfferedAndAchievedAgreeWithinOnePercentAtEveryRateItAccepts) {
  for (const double rate : {20.0, 150.0, 600.0, 1200.0}) {
    const RunSummary summary = run(settings(rate, 500ms));
    EXPECT_NEAR(summary.achieved_ratio(), 1, 0.01) << rate;
    EXPECT_NEAR(summary.rate_achieved() / rate, 1, 0.01) << rate;
    EXPECT_EQ(failure_of(summary), "") << rate;
  }
}

TEST_F(LoadRunTest, AskedForMoreThanItCanDoItSaysSoAfterTheRun) {
  LoadSettings load = settings(400, 300ms);
  load.connections = 1;
  server_.answer(204, 1);
  StallingServer deaf(reactor_, 1);
  load.targets = {{.port = deaf.port()}};
  load.timeout = 200ms;
  const RunSummary summary = run(load);
  EXPECT_LT(summary.achieved_ratio(), 0.1);
  EXPECT_NE(failure_of(summary), "");
  EXPECT_GE(summary.tally.dropped(), 100);
  const std::string dropped = std::to_string(summary.tally.dropped());
  EXPECT_TRUE(report_json(summary).starts_with(R"({"dropped":)" + dropped + ",")) << dropped;
  EXPECT_TRUE(report_text(summary).starts_with("not sent     dropped " + dropped)) << dropped;
}

TEST_F(LoadRunTest, WorkersShareOneScheduleExactly) {
  const RunSummary summary = run(settings(601, 500ms), 3);
  EXPECT_EQ(summary.tally.offered(), 301);
  EXPECT_EQ(summary.tally.status(204), 301);
  EXPECT_EQ(server_.requests(), 301);
  EXPECT_EQ(summary.series.intervals()[0].ended, 301);
}

TEST_F(LoadRunTest, ARunStoppedEarlyIsHeldToWhatWasDueByThen) {
  LoadRun run(reactor_, settings(200, 60s), &corpus_, 1);
  run.start([this] { reactor_.stop(); });

  struct Stop final : net::Timer {
    explicit Stop(LoadRun& target) : run(target) {}

    void on_timer(base::Instant) override { run.stop_early(); }

    LoadRun& run;
  } stop(run);

  reactor_.timers().arm(stop, reactor_.now() + 500ms);
  reactor_.run();
  const RunSummary summary = run.summary();
  EXPECT_LT(summary.elapsed, 10s);
  EXPECT_GE(summary.tally.ended(), 60);
  EXPECT_NEAR(summary.achieved_ratio(), 1, 0.3);
}

TEST_F(LoadRunTest, ItsReportsAreJsonAndReadBackForAComparison) {
  server_.answer(503, 4);
  const RunSummary summary = run(settings(100, 5s + 200ms));
  const auto gates = workload::parse_gates("error_ratio < 0.1\nachieved_ratio > 0.9", kGateFigures);
  ASSERT_TRUE(gates);
  const auto results = workload::check_gates(*gates, figures_of(summary));
  openrtb::Document json;
  const openrtb::Padded padded(report_json(summary, results));
  ASSERT_TRUE(json.walk(padded.view())) << padded.view();
  EXPECT_EQ(json.integer(json.find(json.root(), "offered")), 520);
  EXPECT_EQ(json.integer(json.find(json.root(), "errors")), 130);
  EXPECT_EQ(json.node(json.find(json.root(), "gates")).children, 2);
  EXPECT_FALSE(results[0].passed);
  EXPECT_TRUE(results[1].passed);

  const auto blocks = parse_run(report_json_full(summary));
  ASSERT_TRUE(blocks) << blocks.error();
  ASSERT_EQ(blocks->size(), 6);
  EXPECT_EQ((*blocks)[0].offered, 100);
  EXPECT_EQ((*blocks)[0].failed, 25);
  const auto differences = workload::compare_runs(*blocks, *blocks, {.resamples = 100});
  EXPECT_NEAR(differences[2].a, base::to_ms(summary.tally.latency().quantile(0.99)), 1e-6);

  const std::string page = report_html(summary, "a <run>", results);
  EXPECT_NE(page.find("<title>a &lt;run&gt;</title>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos) << "needs nothing from elsewhere";
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_NE(page.find("FAILED"), std::string::npos);
}

TEST_F(LoadRunTest, ATrialIsHeldByWhatTheServerCountsElseByItsAnswers) {
  const RunSummary good = run(settings(200, 300ms));
  EXPECT_TRUE(judge_trial(good, nullptr).held);
  const ServerCounts missed{.misses = 1};
  EXPECT_FALSE(judge_trial(good, &missed).held);
  const ServerCounts shed{.misses = 0, .shed = 1};
  EXPECT_FALSE(judge_trial(good, &shed).held) << "1 of 60 is over 0.1 %";
  const ServerCounts clean{};
  EXPECT_TRUE(judge_trial(good, &clean).held);
  server_.answer(503, 20);
  EXPECT_FALSE(judge_trial(run(settings(200, 300ms)), nullptr).held);
  EXPECT_FALSE(judge_trial(run(settings(200, 300ms)), &clean).held);
}

TEST(RunFile, WhatIsNoReportIsRefusedWithItsReason) {
  EXPECT_EQ(parse_run("{").error(), "no JSON near byte 1");
  EXPECT_NE(parse_run("{}").error().find("--report"), std::string::npos);
  EXPECT_NE(parse_run(R"({"series":[{"offered":1}]})").error().find("series[0]"),
            std::string::npos);
  const std::string interval =
      R"({"offered":1,"ended":1,"failed":0,"bids":0,"buckets":[999999,1]})";
  EXPECT_NE(parse_run(R"({"series":[)" + interval + "]}").error().find("bad bucket"),
            std::string::npos);
  EXPECT_NE(parse_run(R"({"series":[{"offered":1,"ended":1,"failed":0,"bids":0,"buckets":[5,1]}]})")
                .error()
                .find("too few"),
            std::string::npos);
}

}  // namespace
}  // namespace spillway::app
