#include "app/scenario/scenario.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/reader.h"
#include "app/scenario/values.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kScenario = R"(about: "One DSP hangs."
vars: { sick: 30s, end: 60s, margin: 40ms }
short: { sick: 3s }
farm: |
  dsps:
    - { name: alpha, price: { kind: uniform, low: 1, high: 2.5 } }
exchange: |
  exchange: { listen: 127.0.0.1:0 }
  admin: { listen: 127.0.0.1:0 }
  accounts: [{ response_margin: $margin }]
  dsps: [{ name: alpha, endpoint: "http://$alpha/bid" }]
load: { rate: 100, duration: $end }
steps:
  - { name: sick, at: $sick, dsp: alpha, fault: '{"kind": "hang"}' }
  - { name: other, at: 40s, reload: { margin: 20ms } }
  - { name: well, at: 50s, clear: "*" }
expect:
  - { value: opened_s, dsp: alpha, from: sick, to: well, max: 5 }
)";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string problems_of(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_scenario(text, false, {}, problems);
  std::string all;
  for (const auto& problem : problems) {
    all += to_string(problem, "s.yaml") + "\n";
  }
  return all;
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kScenario);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Scenario, ReadsStepsExpectationsAndWhatTheProgramsWillRead) {
  std::vector<ConfigProblem> problems;
  const Scenario scenario = read_scenario(kScenario, false, {}, problems);
  ASSERT_EQ(problems_of(kScenario), "");
  ASSERT_EQ(scenario.steps.size(), 3);
  EXPECT_EQ(scenario.steps[0].at, 30s);
  EXPECT_EQ(scenario.steps[0].kind, ScenarioStep::Kind::kFault);
  EXPECT_EQ(scenario.steps[2].dsp, "*");
  EXPECT_EQ(scenario.load.duration, 60s);
  EXPECT_EQ(scenario.prices.at("alpha"), 2.5);
  ASSERT_EQ(scenario.expect.size(), 1);
  EXPECT_EQ(scenario.expect[0].subject(), "opened_s of alpha, sick to well");
  EXPECT_EQ(scenario.expect[0].wanted(), "<= 5");
}

TEST(Scenario, AShortRunTakesItsOwnValuesAndAReloadChangesSome) {
  std::vector<ConfigProblem> problems;
  const Scenario scenario = read_scenario(kScenario, true, {}, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(scenario.steps[0].at, 3s);
  EXPECT_EQ(scenario.load.duration, 60s) << "what short does not name stays";
  const ScenarioVars addresses{{"alpha", "127.0.0.1:41"}};
  EXPECT_NE(scenario.exchange_text({}, addresses).find("http://127.0.0.1:41/bid"),
            std::string::npos);
  EXPECT_NE(scenario.exchange_text({}, addresses).find("response_margin: 40ms"), std::string::npos);
  EXPECT_NE(scenario.exchange_text({{"margin", "20ms"}}, addresses).find("response_margin: 20ms"),
            std::string::npos);
}

TEST(Scenario, EveryMistakeIsSaidWithItsLine) {
  struct Mistake {
    const char* from;
    const char* to;
    const char* said;
  };

  for (const auto& [from, to, said] : {
           Mistake{"value: opened_s", "value: opend_s",
                   "s.yaml:18: expect[0].value: must be one of"},
           Mistake{"max: 5 }", "maxi: 5 }", "s.yaml:18: expect[0].maxi: is an unknown key"},
           Mistake{"max: 5 }", "}", "s.yaml:18: expect[0]: must have min or max"},
           Mistake{"from: sick, to: well", "from: well, to: sick",
                   "s.yaml:18: expect[0].to: must be later than from"},
           Mistake{"from: sick", "from: sik", "s.yaml:18: expect[0].from: must be start, end or"},
           Mistake{"dsp: alpha, from", "dsp: omega, from",
                   "s.yaml:18: expect[0].dsp: must be a DSP of the farm"},
           Mistake{"opened_s, dsp: alpha", "auctions, dsp: alpha",
                   "s.yaml:18: expect[0].dsp: is of no use with this value"},
           Mistake{"opened_s, dsp: alpha", "outcome_ratio",
                   "s.yaml:18: expect[0].of: must be there"},
           Mistake{"opened_s, dsp: alpha", "goodput_ratio",
                   "s.yaml:18: expect[0].value: is known only with load.times_capacity"},
           Mistake{"\"hang\"", "\"sulk\"", "s.yaml:14: steps[0].fault: it: kind: must be one of"},
           Mistake{"at: 40s", "at: 20s", "s.yaml:15: steps[1].at: must not be before"},
           Mistake{"at: 50s", "at: 70s", "s.yaml:16: steps[2].at: must not be after"},
           Mistake{"name: other", "name: sick", "s.yaml:15: steps[1].name: must be there, once"},
           Mistake{"reload: { margin", "reload: { margn",
                   "s.yaml:15: steps[1].reload: margn is no"},
           Mistake{"$margin", "$margn", "s.yaml:10: exchange: $margn is neither"},
           Mistake{"response_margin", "response_margn",
                   "s.yaml:10: exchange.accounts[0].response_margn: is an unknown key"},
           Mistake{"high: 2.5", "hi: 2.5", "s.yaml:6: farm.dsps[0].price.hi: is an unknown key"},
           Mistake{"rate: 100", "rat: 100", "s.yaml:12: load.rat: is an unknown key"},
           Mistake{"short: { sick", "short: { sik", "s.yaml:3: short: sik is no name of vars"},
           Mistake{"clear: \"*\"", "clear: \"*\", signal: TERM", "s.yaml:16: steps[2]: may do one"},
       }) {
    const std::string problems = problems_of(with(from, to));
    EXPECT_TRUE(problems.find(said) != std::string::npos) << said << "\nbut said:\n" << problems;
  }
}

TEST(Scenario, NamesAreReplacedAndOtherDollarsStay) {
  std::vector<std::pair<std::string, int>> unknown;
  EXPECT_EQ(with_vars("a $x-1 ${AUCTION_PRICE}\n$1 $y$x $", {{"x", "7"}, {"x-1", "8"}}, &unknown),
            "a 8 ${AUCTION_PRICE}\n$1 $y7 $");
  ASSERT_EQ(unknown.size(), 1);
  EXPECT_EQ(unknown[0], std::pair(std::string("y"), 2));
}

TEST(Scenario, EveryFileOfTheRepositoryIsSoundAtBothLengths) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPILLWAY_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() != ".yaml") {
      continue;
    }
    ++files;
    for (const bool shortened : {false, true}) {
      std::vector<ConfigProblem> problems;
      const auto scenario = read_scenario(read_file(entry.path()), shortened, {}, problems);
      for (const auto& problem : problems) {
        ADD_FAILURE() << to_string(problem, entry.path().string());
      }
      EXPECT_FALSE(scenario.expect.empty()) << entry.path();
      EXPECT_TRUE(!shortened || scenario.load.duration <= 40s) << entry.path();
    }
  }
  EXPECT_GE(files, 14);
}

TEST(Scenario, EveryValueIsDocumentedWithItsMeaning) {
  const std::string page = read_file(SPILLWAY_SOURCE_DIR "/docs/scenarios.md");
  for (const auto& value : scenario_values()) {
    const std::string row = "| `" + std::string(value.name) + "` | " + std::string(value.meaning);
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace spillway::app
