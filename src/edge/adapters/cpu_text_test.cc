#include "adapters/cpu_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace spillway::adapters {
namespace {

TEST(ProcStat, CountsUseIdleAndWhatWasStolenOfAllProcessors) {
  const auto ticks = parse_proc_stat(
      "cpu  100 10 50 800 40 5 15 30 7 3\n"
      "cpu0 50 5 25 400 20 3 7 15 4 2\n"
      "cpu1 50 5 25 400 20 2 8 15 3 1\n"
      "intr 12345 0 0\nctxt 99\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->used, 180U);
  EXPECT_EQ(ticks->idle, 840U);
  EXPECT_EQ(ticks->stolen, 30U);
  EXPECT_EQ(ticks->cores, 2U);
}

TEST(ProcStat, ReadsTheShortLinesOfOldKernelsAndRefusesOtherText) {
  const auto ticks = parse_proc_stat("cpu 1 2 3 4\ncpu0 1 2 3 4\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->used, 6U);
  EXPECT_FALSE(parse_proc_stat(""));
  EXPECT_FALSE(parse_proc_stat("cpu a b c d\ncpu0 1 2 3 4\n"));
  EXPECT_FALSE(parse_proc_stat("cpu 1 2 3 4\n"));
}

TEST(CpuMax, IsCoresOrNoLimit) {
  EXPECT_DOUBLE_EQ(parse_cpu_max("20000 50000\n").value_or(0), 0.4);
  EXPECT_TRUE(std::isinf(parse_cpu_max("max 100000\n").value_or(0)));
  EXPECT_FALSE(parse_cpu_max("20000\n"));
  EXPECT_FALSE(parse_cpu_max("20000 0\n"));
  EXPECT_FALSE(parse_cpu_max("lots 100000\n"));
  EXPECT_FALSE(parse_cpu_max("0 100000\n")) << "nothing to divide by";
}

TEST(CpuList, CountsSinglesAndRanges) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), 5U);
  EXPECT_EQ(parse_cpu_list("7"), 1U);
  EXPECT_FALSE(parse_cpu_list("\n"));
  EXPECT_FALSE(parse_cpu_list("3-1"));
  EXPECT_FALSE(parse_cpu_list("0-x"));
}

TEST(CpuStat, FindsAKeyAtTheBeginningOfItsLineOnly) {
  constexpr auto kText = "usage_usec 1234\nnr_periods 10\nnr_throttled 3\n";
  EXPECT_EQ(parse_keyed(kText, "nr_throttled"), 3U);
  EXPECT_EQ(parse_keyed(kText, "usage_usec"), 1234U);
  EXPECT_FALSE(parse_keyed(kText, "usec"));
  EXPECT_FALSE(parse_keyed("nr_periods x\n", "nr_periods"));
}

TEST(Pressure, IsTheTotalOfSome) {
  EXPECT_EQ(parse_pressure("some avg10=1.50 avg60=0.00 avg300=0.00 total=123456\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"),
            123456U);
  EXPECT_FALSE(parse_pressure("full avg10=0 total=9\n"));
}

TEST(ProcCgroup, FindsEachControllerAndTheUnifiedGroup) {
  constexpr auto kText =
      "12:cpuset:/sets/a\n5:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n0::/system.slice/a:b\n";
  EXPECT_EQ(parse_group(kText, "cpuacct"), "/docker/abc");
  EXPECT_EQ(parse_group(kText, "cpu"), "/docker/abc");
  EXPECT_EQ(parse_group(kText, "cpuset"), "/sets/a");
  EXPECT_EQ(parse_group(kText, ""), "/system.slice/a:b");
  EXPECT_FALSE(parse_group(kText, "memory"));
  EXPECT_FALSE(parse_group("nonsense\n", ""));
}

}  // namespace
}  // namespace spillway::adapters
