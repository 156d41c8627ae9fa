// What happens to a farm in a steady state, one trouble at a time, on one farm for the whole suite:
// the cases run in order, and each leaves it as it found it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "balance/agents.h"
#include "balance/farm.h"
#include "balance/fleet.h"
#include "balance/load.h"
#include "balance/record.h"
#include "balance/twice.h"

namespace spillway::balance {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAgentPeriod{1000};
constexpr size_t kFailing = 2;  ///< A back end of middle size.

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class BalanceTroubles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (missing_here().empty()) {
      fleet_ = std::make_unique<Fleet>(five_unlike(), AgentOptions{.period = kAgentPeriod});
      if (fleet_->error().empty()) {
        Load load = fleet_->load(rate(), 25s);
        (void)fleet_->watch(25);
        (void)load.report();
      }
    }
  }

  static void TearDownTestSuite() { fleet_.reset(); }

  void SetUp() override {
    if (!fleet_) {
      GTEST_SKIP() << missing_here();
    }
    ASSERT_EQ(fleet_->error(), "");
  }

  [[nodiscard]] static double rate() { return 0.4 * capacity_of(five_unlike()); }

  [[nodiscard]] static std::vector<double> weights() {
    std::vector<double> found;
    for (const auto& server : fleet_->proxy().statistics()) {
      found.push_back(server.weight);
    }
    return found;
  }

  /// Every server has its share of the whole again, within an eighth or two steps of its weight.
  [[nodiscard]] static bool alike(const std::vector<double>& now, const std::vector<double>& then) {
    double now_sum = 0;
    double then_sum = 0;
    for (size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
      now_sum += now[i];
      then_sum += then[i];
    }
    for (size_t i = 0; i < then.size(); ++i) {
      const double wanted = then[i] * now_sum / then_sum;
      if (i >= now.size() || std::abs(now[i] - wanted) > std::max(2.0, wanted / 8)) {
        return false;
      }
    }
    return now_sum > 0;
  }

  /// How long until the weights are as they were; 60: not within a minute.
  [[nodiscard]] static double seconds_until_alike(const std::vector<double>& then) {
    const auto start = Clock::now();
    while (seconds_since(start) < 60 && !alike(weights(), then)) {
      ::poll(nullptr, 0, 50);
    }
    return seconds_since(start);
  }

  static std::unique_ptr<Fleet> fleet_;
};

std::unique_ptr<Fleet> BalanceTroubles::fleet_;  // NOLINT

TEST_F(BalanceTroubles, AReloadOfHaproxyLosesNothingAndHasTheWeightsBackInTwoPeriods) {
  Load load = fleet_->load(rate(), 8s);
  (void)fleet_->watch(3);
  const auto before = weights();
  ASSERT_TRUE(fleet_->proxy().reload()) << fleet_->proxy().error();
  const double took = seconds_until_alike(before);
  const LoadReport report = load.report();
  fmt::print("weights back after {:.2f} s; {} of {} failed\n", took, report.failed, report.ended);
  EXPECT_LE(took, 2 * std::chrono::duration<double>(kAgentPeriod).count());
  EXPECT_EQ(report.failed, 0U);
}

TEST_F(BalanceTroubles, ARestartOfHaproxyHasTheWeightsBackInTwoPeriods) {
  Load load = fleet_->load(rate(), 8s);
  (void)fleet_->watch(3);
  const auto before = weights();
  ASSERT_TRUE(fleet_->proxy().restart()) << fleet_->proxy().error();
  const double took = seconds_until_alike(before);
  const LoadReport report = load.report();
  fmt::print("weights back after {:.2f} s; {} of {} failed while nobody listened\n", took,
             report.failed, report.ended);
  EXPECT_LE(took, 2 * std::chrono::duration<double>(kAgentPeriod).count());
}

TEST_F(BalanceTroubles, ABackEndThatFailsFastIsGivenAtMostOnePerCentOfTheTraffic) {
  expect_within_two_tries([] {
    const auto duration = is_long() ? 60s : 24s;
    Load load = fleet_->load(rate(), duration);
    const Record record =
        fleet_->watch(static_cast<double>(duration.count()),
                      {{3.5, [] { (void)fleet_->farm()[kFailing]->fail_fast(true); }}});
    (void)fleet_->farm()[kFailing]->fail_fast(false);
    const LoadReport report = load.report();
    uint64_t late_failed = 0;
    uint64_t late_ended = 0;
    std::string by_second;
    for (size_t i = 0; i < report.seconds.size(); ++i) {
      by_second += fmt::format(" {}", report.seconds[i].failed);
      if (i >= 3 + 5) {
        late_failed += report.seconds[i].failed;
        late_ended += report.seconds[i].ended;
      }
    }
    const double late = static_cast<double>(late_failed) / static_cast<double>(late_ended);
    fmt::print("failed by second:{}\n{:.2f} % of all, {:.2f} % from 5 s on; weight {:.0f}\n",
               by_second, 100 * report.failed_ratio(), 100 * late,
               record.readings.back().weights[kFailing]);
    return std::string(late <= 0.01 ? "" : "more than 1 % is lost 5 s after it began to fail");
  });
  const auto then = weights();
  Load load = fleet_->load(rate(), 15s);
  (void)fleet_->watch(15);
  EXPECT_EQ(load.report().failed, 0U);
  EXPECT_GT(weights()[kFailing], 2 * then[kFailing]) << "it does not come back";
}

}  // namespace
}  // namespace spillway::balance
