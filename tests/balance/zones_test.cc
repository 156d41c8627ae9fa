// Three zones with a HAProxy each, entered by unlike shares of the traffic. The third one's is
// reloaded on the way: servers that the configuration names lose nothing by that.
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "balance/farm.h"
#include "balance/fleet.h"
#include "balance/law_run.h"
#include "balance/load.h"
#include "balance/record.h"
#include "balance/twice.h"

namespace spillway::balance {
namespace {

using namespace std::chrono_literals;

constexpr std::array<double, 3> kEntry = {0.40, 0.33, 0.27};
constexpr size_t kReloaded = 2;

Measured measure_zones() {
  const auto plans = three_zones();
  Fleet fleet(plans, {.period = 1000ms});
  if (!fleet.error().empty()) {
    return {.why = fleet.error()};
  }
  const auto duration = is_long() ? 120s : 46s;
  std::vector<Load> loads;
  for (size_t zone = 0; zone < kEntry.size(); ++zone) {
    loads.push_back(fleet.load(0.5 * capacity_of(plans) * kEntry[zone], duration, zone));
  }
  std::string why;
  const Record record =
      fleet.watch(static_cast<double>(duration.count()), {{8.5, [&] {
                                                             if (!fleet.proxy(kReloaded).reload()) {
                                                               why += "HAProxy does not reload; ";
                                                             }
                                                           }}});
  std::array<double, 3> means{};
  for (size_t zone = 0; zone < kEntry.size(); ++zone) {
    const LoadReport report = loads[zone].report();
    const auto own = windows(record, 10, 30, fleet.members(zone));
    means[zone] = own.back().mean();
    fmt::print(
        "zone {}: mean {:.1f} %, spread p95 {:.1f}, at most 5 in {:.0f} % of {}; {} failed\n",
        fleet.zones()[zone], means[zone], spread_quantile(own, 0.95), 100 * share_within(own, 5),
        own.size(), report.failed);
    if (share_within(own, 5) < 0.95) {
      why += "zone " + fleet.zones()[zone] + " is not within 5 points of its own mean; ";
    }
    // The start, equal weights for unlike servers, may drown the smallest of a zone for a while.
    if (zone == kReloaded && report.failed != 0) {
      why += "requests failed where HAProxy was reloaded; ";
    }
  }
  fmt::print("load average {:.1f}, others used {:.2f} processors\n", record.load_average,
             record.others_cores);
  // Else the zones were alike, and a mean over all of them would have done.
  if (means[0] - means[2] < 8) {
    why += "the zones' means are alike; ";
  }
  return {.why = why, .others_cores = record.others_cores};
}

TEST(BalanceZones, EachZoneKeepsToItsOwnMeanWhenTheyAreEnteredUnequally) {
  SKIP_WITHOUT_FARM();
  expect_within_two_tries(measure_zones);
}

}  // namespace
}  // namespace spillway::balance
