#include "observe/metrics_page.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/histogram.h"

namespace spillway::observe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Every sample of an exposition by name and labels; a line that breaks the format's grammar, or a
/// sample before its family's TYPE, is a test failure.
struct Exposition {
  explicit Exposition(const std::string& text) {
    static const std::regex comment(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
    static const std::regex sample(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\]|\\[\\n"])*",?)+\})? )re"
        R"(([-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf)|Nan))");
    std::istringstream lines(text);
    std::string family;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_match(line, match, comment)) {
        if (match[1] == "TYPE") {
          family = match[2];
          families.push_back(family);
        } else {
          help[match[2]] = match[3];
        }
      } else if (std::regex_match(line, match, sample)) {
        EXPECT_TRUE(match[1].str().starts_with(family)) << line;
        EXPECT_FALSE(samples.contains(match[1].str() + match[2].str())) << "twice: " << line;
        samples[match[1].str() + match[2].str()] = std::stod(match[3]);
      } else {
        ADD_FAILURE() << "not in the grammar: " << line;
      }
    }
  }

  std::vector<std::string> families;
  std::map<std::string, std::string> help;
  std::map<std::string, double> samples;
};

TEST(MetricsPage, EveryLineParsesAndFamiliesAreSortedAndWholeWithTheFirstHelp) {
  MetricsPage page;
  page.counter("spillway_z_calls_total", "Calls.", {{"dsp", "alpha"}}, 3);
  page.gauge("spillway_a_ratio", "A ratio.", {}, 0.25);
  page.counter("spillway_z_calls_total", "Another help.", {{"dsp", "beta"}}, 4'000'000'000);
  base::Histogram latency;
  page.latency("spillway_m_seconds", "Latency.", {{"dsp", "alpha"}}, latency);

  const Exposition seen(page.text());

  EXPECT_EQ(seen.families, (std::vector<std::string>{"spillway_a_ratio", "spillway_m_seconds",
                                                     "spillway_z_calls_total"}));
  EXPECT_EQ(seen.help.at("spillway_z_calls_total"), "Calls.");
  EXPECT_EQ(seen.samples.at("spillway_a_ratio"), 0.25);
  EXPECT_EQ(seen.samples.at(R"(spillway_z_calls_total{dsp="alpha"})"), 3);
  EXPECT_EQ(seen.samples.at(R"(spillway_z_calls_total{dsp="beta"})"), 4e9);
}

TEST(MetricsPage, BigCountsKeepEveryDigit) {
  MetricsPage page;
  page.counter("bytes_total", "Bytes.", {}, 4'503'599'627'370'497);
  EXPECT_EQ(Exposition(page.text()).samples.at("bytes_total"), 4'503'599'627'370'497.0);
}

TEST(MetricsPage, LabelValuesAreEscaped) {
  MetricsPage page;
  page.counter("odd_total", "Odd.", {{"name", "a\"b\\c\nd"}}, 1);
  EXPECT_EQ(Exposition(page.text()).samples.count(R"(odd_total{name="a\"b\\c\nd"})"), 1U);
}

TEST(MetricsPage, LatencyBucketsAreCumulativeFrom100UsTo5S) {
  base::Histogram latency;
  latency.record(microseconds(50));
  latency.record(microseconds(400));
  latency.record(milliseconds(7));
  latency.record(milliseconds(700));
  latency.record(seconds(30));
  MetricsPage page;
  page.latency("call_seconds", "Latency.", {{"dsp", "a"}}, latency);

  const Exposition seen(page.text());

  const std::vector<std::pair<std::string, double>> expected = {
      {"0.0001", 1}, {"0.00025", 1}, {"0.0005", 2}, {"0.001", 2}, {"0.0025", 2},
      {"0.005", 2},  {"0.01", 3},    {"0.015", 3},  {"0.02", 3},  {"0.025", 3},
      {"0.03", 3},   {"0.035", 3},   {"0.04", 3},   {"0.05", 3},  {"0.075", 3},
      {"0.1", 3},    {"0.15", 3},    {"0.2", 3},    {"0.25", 3},  {"0.3", 3},
      {"0.5", 3},    {"1", 4},       {"2.5", 4},    {"5", 4},     {"+Inf", 5}};
  for (const auto& [bound, count] : expected) {
    const std::string name = "call_seconds_bucket{dsp=\"a\",le=\"" + bound + "\"}";
    ASSERT_TRUE(seen.samples.contains(name)) << name << "\n" << page.text();
    EXPECT_EQ(seen.samples.at(name), count) << name;
  }
  EXPECT_EQ(seen.samples.at("call_seconds_count{dsp=\"a\"}"), 5);
  EXPECT_NEAR(seen.samples.at("call_seconds_sum{dsp=\"a\"}"), 30.70745, 1e-9);
  EXPECT_EQ(seen.samples.size(), expected.size() + 2);
}

TEST(MetricsPage, ABucketNeverCountsAValueAboveItsBound) {
  for (int us = 90; us < 6'000'000; us += 1 + us / 97) {
    base::Histogram latency;
    latency.record(microseconds(us));
    MetricsPage page;
    page.latency("t_seconds", "T.", {}, latency);
    for (const auto& [name, count] : Exposition(page.text()).samples) {
      const size_t at = name.find("le=\"");
      if (at != std::string::npos && count > 0) {
        EXPECT_GE(std::stod(name.substr(at + 4)), us / 1e6) << name;
      }
    }
  }
}

TEST(MetricsPage, AFineBucketThatEndsAtABoundCountsBelowIt) {
  base::Histogram latency;
  latency.record(microseconds(99));
  MetricsPage page;
  page.latency("t_seconds", "T.", {}, latency);
  EXPECT_EQ(Exposition(page.text()).samples.at("t_seconds_bucket{le=\"0.0001\"}"), 1);
}

TEST(MetricsPageDeathTest, AFamilyOfTwoTypesIsAProgrammersError) {
  MetricsPage page;
  page.counter("x_total", "X.", {}, 1);
  EXPECT_DEATH(page.gauge("x_total", "X.", {}, 1), "type");
}

}  // namespace
}  // namespace spillway::observe
