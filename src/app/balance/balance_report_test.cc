#include "app/balance/balance_report.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "app/balance/samples_file.h"
#include "base/time.h"
#include "capacity/fleet_test.h"
#include "capacity/forecast.h"
#include "capacity/law_settings.h"
#include "capacity/sample.h"
#include "capacity/sample_text.h"

namespace spillway::app {
namespace {

using capacity::FleetModel;
using capacity::FleetSettings;
using capacity::LawKind;
using std::chrono::minutes;
using std::chrono::seconds;

std::string lines_of(const std::vector<capacity::Sample>& samples) {
  std::string text;
  for (const auto& sample : samples) {
    capacity::append_text(text, sample, base::Instant{});
    text += '\n';
  }
  return text;
}

/// Ten minutes of the standard fleet under `law`; what the tool assumes of delays holds.
std::string recorded(LawKind law, double utilization = 0.35) {
  FleetSettings settings;
  settings.law.law = law;
  settings.law.mean_delay = settings.mean_delay = seconds(1);
  settings.stale_after = seconds(7);
  settings.reading_noise = 0.01;
  FleetModel fleet(settings);
  fleet.add_standard_fleet();
  fleet.run(minutes(10), capacity::steady(fleet.capacity(), utilization));
  return lines_of(fleet.published());
}

BalanceReport report_of(const std::string& lines) {
  std::istringstream in(lines);
  const auto samples = read_samples(in);
  BalanceReport report;
  report.samples = samples.samples.size();
  report.bad_lines = samples.bad_lines;
  report.forecast = capacity::forecast(samples.samples, report.settings);
  return report;
}

struct Ran {
  int status = -1;
  std::string out;
};

Ran run_tool(const std::string& arguments) {
  const std::string command =
      std::string(SPILLWAY_BINARY_DIR) + "/libexec/spillway-balance " + arguments + " 2>&1";
  Ran ran;
  std::FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t read = std::fread(buffer, 1, sizeof buffer, pipe)) {
    ran.out.append(buffer, read);
  }
  ran.status = WEXITSTATUS(pclose(pipe));
  return ran;
}

/// A file of this process and test, gone afterwards.
class SampleFile {
 public:
  explicit SampleFile(const std::string& text)
      : path_(::testing::TempDir() + "balance_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl") {
    std::ofstream(path_) << text;
  }

  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  ~SampleFile() { std::remove(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(SamplesFile, BadLinesAreLeftOutCountedAndTheFirstIsNamed) {
  std::istringstream in("\n" + recorded(LawKind::kEqual).substr(0, 4000) + "\nnot a sample\n");
  const auto samples = read_samples(in);
  EXPECT_GT(samples.samples.size(), 5);
  EXPECT_EQ(samples.bad_lines, 2);  // The one cut off, and the last.
  EXPECT_NE(samples.first_problem.find("line "), std::string::npos) << samples.first_problem;
}

TEST(SamplesFile, SamplesAreBroughtIntoTheOrderOfTime) {
  capacity::Sample early;
  early.id = "a";
  early.taken_at = base::Instant{seconds(1)};
  capacity::Sample late = early;
  late.taken_at = base::Instant{seconds(2)};
  std::istringstream in(lines_of({late, early}));
  const auto samples = read_samples(in);
  ASSERT_EQ(samples.samples.size(), 2);
  EXPECT_EQ(samples.samples[0].taken_at, early.taken_at);
}

TEST(BalanceReport, TheTableHoldsObservedBesidePredicted) {
  auto report = report_of(recorded(LawKind::kEqual));
  report.price_per_hour = 0.34;
  const auto text = report_text(report);
  EXPECT_NE(text.find("recorded: 27 servers, 1 zones, 59"), std::string::npos) << text;
  EXPECT_NE(text.find("observed                  capacity"), std::string::npos) << text;
  EXPECT_NE(text.find("saved a month at 0.34 an hour"), std::string::npos) << text;
  EXPECT_GT(report.forecast.observed.spread_60s, 30);
  EXPECT_LT(report.forecast.predicted.spread_60s, 4);
  const auto fewer = static_cast<double>(instances(report.forecast.observed.instances_needed) -
                                         instances(report.forecast.predicted.instances_needed));
  EXPECT_NEAR(saved_per_month(report), fewer * 0.34 * 730, 1e-6);
  EXPECT_GT(fewer, 10);
}

TEST(BalanceReport, WithoutAPriceMoneyIsNotSpokenOf) {
  const auto report = report_of(recorded(LawKind::kEqual));
  EXPECT_EQ(report_text(report).find("saved"), std::string::npos);
  EXPECT_EQ(report_json(report).find("saved"), std::string::npos);
}

TEST(BalanceReport, InstancesAreWhole) {
  EXPECT_EQ(instances(0), 0);
  EXPECT_EQ(instances(26.0), 26);
  EXPECT_EQ(instances(26.01), 27);
}

TEST(BalanceReport, ThePlotHasBothPanelsAndIsBounded) {
  auto report = report_of(recorded(LawKind::kEqual));
  report.forecast.observed_bands.resize(50'000);
  const auto svg = report_svg(report);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("capacity: predicted"), std::string::npos);
  EXPECT_LT(svg.size(), 120'000);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(BalanceProgram, ReportsAsTextAndJsonAndPlots) {
  const SampleFile file(recorded(LawKind::kEqual));
  const auto text = run_tool("report --samples " + file.path());
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_NE(text.out.find("instances for 65 % at most"), std::string::npos);
  const auto plot = file.path() + ".svg";
  const auto json = run_tool("report --json --price 1 --law zone_mean_multiplicative --samples " +
                             file.path() + " --plot " + plot);
  EXPECT_EQ(json.status, 0) << json.out;
  EXPECT_TRUE(json.out.starts_with(R"({"law":"zone_mean_multiplicative","target":0.65,)"));
  EXPECT_NE(json.out.find(R"("saved_per_month":)"), std::string::npos);
  EXPECT_TRUE(std::ifstream(plot).good());
  std::remove(plot.c_str());
}

TEST(BalanceProgram, VerifiesThatDecisionsAreTheLaws) {
  const SampleFile file(recorded(LawKind::kCapacity));
  const auto same = run_tool("report --verify --mean-delay 1 --samples " + file.path());
  EXPECT_EQ(same.status, 0) << same.out;
  EXPECT_NE(same.out.find("8100 of 8100 decisions are the same"), std::string::npos) << same.out;
  const auto other =
      run_tool("report --verify --mean-delay 1 --smoothing 0.2 --samples " + file.path());
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.out.find("first other: s"), std::string::npos) << other.out;
}

TEST(BalanceProgram, SaysWhatIsWrong) {
  const SampleFile file("{}\n");
  EXPECT_EQ(run_tool("report --samples " + file.path()).status, 1);
  EXPECT_EQ(run_tool("report --samples /nowhere/at/all").status, 1);
  EXPECT_EQ(run_tool("report").status, 2);
  const auto law = run_tool("report --law fair --samples " + file.path());
  EXPECT_EQ(law.status, 2);
  EXPECT_NE(law.out.find("is none of equal, static"), std::string::npos);
  const auto gain =
      run_tool("report --law zone_mean_multiplicative --gain 1.5 --samples " + file.path());
  EXPECT_EQ(gain.status, 2);
  EXPECT_NE(gain.out.find("gain: 1.5 is unsafe"), std::string::npos) << gain.out;
}

TEST(BalanceProgram, ReportsNothingOfServersThatCountNoAnswers) {
  std::string line = recorded(LawKind::kEqual);
  line.resize(line.find('\n') + 1);
  const auto zero = [&line](const std::string& key) {
    const size_t from = line.find("\"" + key + "\":") + key.size() + 3;
    line.replace(from, line.find_first_of(",}", from) - from, "0");
  };
  zero("capacity");
  zero("successes_per_second");
  const SampleFile file(line);
  const auto ran = run_tool("report --samples " + file.path());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.out.find("there is nothing to compare"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("spread"), std::string::npos) << ran.out;
}

TEST(BalanceProgram, TakesNoNumberThatIsNone) {
  const SampleFile file("{}\n");
  for (const char* const option : {"--price nan", "--target nan", "--period nan"}) {
    EXPECT_EQ(run_tool(std::string("report ") + option + " --samples " + file.path()).status, 2)
        << option;
  }
}

TEST(BalanceProgram, JudgesAGain) {
  const auto safe = run_tool("check-gain --gain 0.2 --period 5 --mean-delay 5");
  EXPECT_EQ(safe.status, 0) << safe.out;
  EXPECT_NE(safe.out.find("1.50 periods late; it rings above 0.765"), std::string::npos)
      << safe.out;
  EXPECT_EQ(run_tool("check-gain --gain 0.5 --period 5 --mean-delay 60").status, 1);
}

}  // namespace
}  // namespace spillway::app
