#include "app/stages/stage_table.h"

#include <string>

#include <gtest/gtest.h>

namespace spillway::app {
namespace {

std::string page(double retrieve_s, int retrieved, double build_s, int built) {
  const auto line = [](const char* what, const char* stage, double value) {
    return std::string("spillway_bidder_stage_seconds_") + what + "{stage=\"" + stage + "\"} " +
           std::to_string(value) + "\n";
  };
  return "# HELP spillway_bidder_stage_seconds Time of each stage.\n" +
         line("sum", "build", build_s) + line("count", "build", built) +
         line("sum", "retrieve", retrieve_s) + line("count", "retrieve", retrieved) +
         "spillway_bidder_answers_total 7\n";
}

TEST(StageTable, SaysWhatWasAddedBetweenTwoPages) {
  const auto rows = stages_between(page(1, 1000, 2, 500), page(1.003, 1100, 2.001, 510));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].stage, "retrieve");
  EXPECT_EQ(rows[0].calls, 100U);
  EXPECT_NEAR(rows[0].mean_us, 30, 1e-6);
  EXPECT_NEAR(rows[0].share_ratio, 0.75, 1e-6);
  EXPECT_EQ(rows[1].stage, "build");
  EXPECT_NEAR(rows[1].mean_us, 100, 1e-6);
}

TEST(StageTable, ARestartCountsFromZeroAndNoCallsHaveNoMean) {
  const auto rows = stages_between(page(5, 1000, 0, 0), page(0.001, 10, 0, 0));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].calls, 10U);
  EXPECT_NEAR(rows[0].mean_us, 100, 1e-6);
  EXPECT_EQ(rows[1].mean_us, 0);
}

TEST(StageTable, AnythingElseIsNoTable) {
  EXPECT_TRUE(stages_between("", "").empty());
  EXPECT_TRUE(stages_between("", "x_stage_seconds_sum{ 1\nnonsense\n").empty());
  EXPECT_EQ(table_json({}), "[]\n");
}

}  // namespace
}  // namespace spillway::app
