// Every law on the same farm under the same load. A machine that others use too makes single
// windows worse, so each measurement is made once more when it misses, and is printed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "balance/farm.h"
#include "balance/law_run.h"
#include "balance/record.h"
#include "balance/twice.h"

namespace spillway::balance {
namespace {

using namespace std::chrono_literals;

constexpr double kHighDemand = 0.62;

TEST(BalanceLaws, CapacityMakesAllEquallyFullWhereAnEqualSplitDrownsTheSmallest) {
  SKIP_WITHOUT_FARM();
  expect_within_two_tries([]() -> Measured {
    const LawRun equal =
        run_law({.agents = {.law = "equal"}, .demand = kHighDemand, .duration = 12s});
    const LawRun capacity = run_law({.agents = {.period = is_long() ? 2000ms : 1000ms},
                                     .demand = kHighDemand,
                                     .duration = is_long() ? 155s : 40s});
    if (!equal.why.empty() || !capacity.why.empty()) {
      return {.why = equal.why + capacity.why};
    }
    fmt::print("equal: {}capacity: {}", table_of(equal), table_of(capacity));
    const auto settled = windows(capacity.record, 10, 30);
    fmt::print("10 s spread from 30 s on: p95 {:.1f}, at most 5 in {:.0f} % of {}; equal {:.1f}\n",
               spread_quantile(settled, 0.95), 100 * share_within(settled, 5), settled.size(),
               spread_quantile(windows(equal.record, 10, 10), 0.5));
    std::string why;
    if (share_within(settled, 5) < 0.95) {
      why += "the 10 s spread is above 5 points in more than 5 % of windows; ";
    }
    if (spread_quantile(windows(equal.record, 10, 10), 0.5) < 30) {
      why += "the equal split is not unequal: no comparison; ";
    }
    const double equal_p99 = equal.typical_p99_ms(10);
    const double capacity_p99 = capacity.typical_p99_ms(20);
    fmt::print("p99 of a typical second: equal {:.0f} ms, capacity {:.1f} ms\n", equal_p99,
               capacity_p99);
    if (!(capacity_p99 < equal_p99)) {
      why += "p99 is not lower than the equal split's; ";
    }
    if (is_long()) {
      const auto minutes = windows(capacity.record, 60, 90);
      fmt::print("60 s spread from 90 s on: largest {:.2f}\n", spread_quantile(minutes, 1));
      if (minutes.empty() || share_within(minutes, 2) < 1) {
        why += "the 60 s spread is above 2 points after 90 s; ";
      }
    }
    return {.why = why, .others_cores = capacity.record.others_cores};
  });
}

TEST(BalanceLaws, SetpointCollapsesPastItsSetPoint) {
  SKIP_WITHOUT_FARM();
  expect_within_two_tries([]() -> Measured {
    const LawRun run = run_law(
        {.agents = {.law = "setpoint", .period = is_long() ? 2000ms : 500ms, .setpoint = 0.45},
         .demand = kHighDemand,
         .duration = is_long() ? 120s : 26s});
    if (!run.why.empty()) {
      return {.why = run.why};
    }
    fmt::print("setpoint 45 %: {}", table_of(run));
    const auto all = windows(run.record, 10, 10);
    const double best = spread_quantile(all, 0);
    const double last = all.back().spread();
    double largest_weight = 0;
    for (const double weight : run.record.readings.back().weights) {
      largest_weight = std::max(largest_weight, weight);
    }
    fmt::print("spread {:.1f} at best, {:.1f} at the end; largest weight {:.0f}\n", best, last,
               largest_weight);
    std::string why;
    if (last < 25) {
      why += "the spread at the end is no collapse; ";
    }
    return {.why = why, .others_cores = run.record.others_cores};
  });
}

}  // namespace
}  // namespace spillway::balance
