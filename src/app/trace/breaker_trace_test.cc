#include "app/trace/breaker_trace.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/config/reader.h"
#include "app/trace/tracer.h"

namespace spillway::app {
namespace {

constexpr std::string_view kSmall = R"(
rules: classic
window: { type: count, size: 4, min_calls: 4 }
failure_rate: 50
slow_ms: 100
half_open_calls: 2
open_ms: 1000
)";

/// What is said to each line, parted by " | "; the first error ends it.
std::string states(std::string_view yaml, const std::vector<std::string>& lines) {
  std::vector<ConfigProblem> problems;
  const auto tracer = make_breaker_trace(yaml, problems);
  if (tracer == nullptr) {
    return "problem: " + to_string(problems.front(), "f");
  }
  std::string all;
  for (const std::string& line : lines) {
    const auto said = tracer->line(line);
    all += (all.empty() ? "" : " | ") + (said ? *said : "error: " + said.error());
    if (!said) {
      break;
    }
  }
  return all;
}

TEST(BreakerTrace, PrintsTheStateAfterEachEventAndWhetherAStartWasAdmitted) {
  EXPECT_EQ(states(kSmall, {"0 start a", "0 start b", "1 start c", "5 start d", "20 end a error 20",
                            "30 end b ok 30", "40 end c error 3", "50 end d ok 4", "1050 start e",
                            "1051 start f", "1060 end f ok 100", "1061 start g", "1061 start h",
                            "1070 end g ok 1"}),
            "CLOSED admitted | CLOSED admitted | CLOSED admitted | CLOSED admitted | CLOSED | "
            "CLOSED | CLOSED | OPEN | OPEN refused | HALF_OPEN admitted | HALF_OPEN | HALF_OPEN "
            "admitted | HALF_OPEN refused | CLOSED");
}

TEST(BreakerTrace, TakesRatesAsSharesAndInPercentAndKeysWithDotsToo) {
  for (const std::string_view rate : {"0.5", "50"}) {
    const std::string yaml = fmt::format(
        "rules: classic\nwindow.type: time\nwindow.size: 10\nwindow.min_calls: 2\nfailure_rate: "
        "{}\n",
        rate);
    EXPECT_EQ(states(yaml, {"0 start a", "0 start b", "1 end a ok 1", "1 end b error 1"}),
              "CLOSED admitted | CLOSED admitted | CLOSED | OPEN");
  }
}

TEST(BreakerTrace, TheEndOfARefusedCallChangesNothing) {
  EXPECT_EQ(states(kSmall, {"0 start a", "0 start b", "0 start c", "0 start d", "1 end a error 1",
                            "1 end b error 1", "1 end c error 1", "1 end d error 1", "2 start e",
                            "3 end e ok 1", "3 start e"}),
            "CLOSED admitted | CLOSED admitted | CLOSED admitted | CLOSED admitted | CLOSED | "
            "CLOSED | CLOSED | OPEN | OPEN refused | OPEN | OPEN refused");
}

TEST(BreakerTrace, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(states(kSmall, {"x start a"}),
            "error: t_ms must be milliseconds from 0 to 9e12 with at most six decimals, is \"x\"");
  EXPECT_EQ(states(kSmall, {"0 stop a"}),
            "error: the second field must be start or end, is \"stop\"");
  EXPECT_EQ(states(kSmall, {"0 end a ok 1"}), "error: call \"a\" has not started");
  EXPECT_EQ(states(kSmall, {"0 start a", "0 start a"}),
            "CLOSED admitted | error: call \"a\" has not ended yet");
  EXPECT_EQ(states(kSmall, {"0 start a", "0 end a fine 1"}),
            "CLOSED admitted | error: the outcome must be ok, error, slow or cancelled, is "
            "\"fine\"");
  EXPECT_EQ(states(kSmall, {"0 start a", "0 end a ok"}),
            "CLOSED admitted | error: an end has five fields: t_ms end id outcome duration_ms");
  EXPECT_EQ(states(kSmall, {""}),
            "error: must be \"t_ms start id\" or \"t_ms end id outcome duration_ms\"");
}

TEST(BreakerTrace, RefusesKeysItDoesNotKnowAndValuesOutOfRange) {
  EXPECT_TRUE(
      states("rules: classic\nfailure_rat: 0.5\n", {}).starts_with("problem: f:2: failure_rat: "));
  EXPECT_NE(states("rules: classic\nwindow: { type: time, size: 1 }\n", {}).find("window.size"),
            std::string::npos);
  EXPECT_NE(states("rules: classic\nfailure_rate: 0\n", {}).find("above 0"), std::string::npos);
  EXPECT_NE(states("open_ms: 5\n", {}).find("open_ms"), std::string::npos)
      << "a key of the classic rules only";
}

TEST(BreakerTrace, RunsAWholeGuardByTheUsualRules) {
  std::vector<std::string> lines;
  for (int i = 0; i < 8; ++i) {
    lines.push_back(fmt::format("{} start {}", i * 200, i));
    lines.push_back(fmt::format("{} end {} error 20", i * 200 + 20, i));
  }
  for (int i = 0; i < 200; ++i) {
    lines.push_back(fmt::format("{} start {}", 20'000 + i * 400, i));
    lines.push_back(fmt::format("{} end {} ok 20", 20'020 + i * 400, i));
  }
  const std::string said = states("", lines);
  EXPECT_NE(said.find("OPEN refused"), std::string::npos);
  EXPECT_NE(said.find("HALF_OPEN admitted"), std::string::npos);
  EXPECT_NE(said.find("RAMPING"), std::string::npos);
  EXPECT_TRUE(said.ends_with("CLOSED admitted | CLOSED"));
}

TEST(TraceTimes, AreExactDecimals) {
  EXPECT_EQ(parse_trace_ms("t", "1700000000000").value().count(), 1'700'000'000'000'000'000);
  EXPECT_EQ(parse_trace_ms("t", "12.5").value().count(), 12'500'000);
  EXPECT_EQ(parse_trace_ms("t", "0.000001").value().count(), 1);
  for (const std::string_view wrong : {"1.", "-1", "1e3", "", "9000000000001", "0.0000001"}) {
    EXPECT_FALSE(parse_trace_ms("t", wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace spillway::app
