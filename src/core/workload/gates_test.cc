#include "workload/gates.h"

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::workload {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"p99_ms", "error_ratio", "achieved_ratio",
                                                    "bid_ratio"};

std::vector<bool> passed(std::string_view text, const std::vector<Figure>& figures) {
  const auto gates = parse_gates(text, kNames);
  EXPECT_TRUE(gates);
  std::vector<bool> out;
  for (const auto& result : check_gates(gates.value(), figures)) {
    out.push_back(result.passed);
  }
  return out;
}

std::string problems(std::string_view text) {
  const auto gates = parse_gates(text, kNames);
  std::string out;
  if (!gates) {
    for (const auto& problem : gates.error()) {
      out += std::to_string(problem.line) + ": " + problem.what + "\n";
    }
  }
  return out;
}

TEST(Gates, EachIsHeldOrNotByItsFigure) {
  const std::vector<Figure> figures = {
      {"p99_ms", 25}, {"error_ratio", 0.0005}, {"achieved_ratio", 0.99}, {"bid_ratio", 0.7}};
  EXPECT_EQ(passed("p99_ms < 25\np99_ms <= 25\nachieved_ratio > 0.99\nachieved_ratio >= 0.99\n"
                   "error_ratio < 0.001  # a tenth of a percent\n\n# nothing\n"
                   "bid_ratio within 0.6..0.8\nbid_ratio within 0.7..0.7\nbid_ratio within 0.8..1",
                   figures),
            (std::vector<bool>{false, true, false, true, true, true, true, false}));
}

TEST(Gates, WhatWasNotMeasuredPassesNothing) {
  EXPECT_EQ(passed("p99_ms < 25\np99_ms >= 0\nbid_ratio within 0..1", {{"p99_ms", std::nan("")}}),
            (std::vector<bool>{false, false, false}));
}

TEST(Gates, EverythingWrongIsSaidWithItsLine) {
  EXPECT_EQ(problems("p99_ms < 25\n\np98_ms < 25\np99_ms = 25\np99_ms < fast\np99_ms <25\n"
                     "bid_ratio within 0.8..0.6\nbid_ratio within 0.8\n"),
            "3: there is no figure \"p98_ms\"; there are p99_ms, error_ratio, achieved_ratio, "
            "bid_ratio\n"
            "4: must compare by <, <=, >, >= or within, not by \"=\"\n"
            "5: the bound must be a number, is \"fast\"\n"
            "6: must be \"figure < number\" or \"figure within low..high\"\n"
            "7: the lower bound is above the upper one in \"0.8..0.6\"\n"
            "8: the bounds must be two numbers such as 0.6..0.8, are \"0.8\"\n");
}

TEST(Gates, AFileWithoutGatesIsNoGate) {
  EXPECT_EQ(problems("# later\n"), "0: no gate: an empty file would pass everything\n");
  EXPECT_NE(problems(""), "");
}

}  // namespace
}  // namespace spillway::workload
