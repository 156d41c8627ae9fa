// What happens to a farm in a steady state, one trouble at a time: members and samples in Redis, a
// balancer that makes HAProxy's servers of them. One farm for the whole suite: the cases run in
// order, each leaves it as it found it or says what it took away.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "balance/agents.h"
#include "balance/farm.h"
#include "balance/fleet.h"
#include "balance/imds.h"
#include "balance/load.h"
#include "balance/record.h"
#include "balance/twice.h"

namespace spillway::balance {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Weights = std::map<std::string, double>;

constexpr std::chrono::milliseconds kAgentPeriod{1000};
constexpr double kTwoPeriodsS = 2;

// Back ends by what is done to them.
constexpr size_t kInterrupted = 0;
constexpr size_t kAgentKilled = 1;
constexpr size_t kFailing = 2;
constexpr size_t kDoubtful = 3;
constexpr size_t kNewcomer = 5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double mean_of(const Weights& weights) {
  double sum = 0;
  for (const auto& [name, weight] : weights) {
    sum += weight;
  }
  return weights.empty() ? 0 : sum / static_cast<double>(weights.size());
}

/// Every server has its share of the whole again, within an eighth or two steps of its weight.
bool alike(const Weights& now, const Weights& then) {
  if (now.size() != then.size() || then.empty() || mean_of(now) == 0) {
    return false;
  }
  return std::ranges::all_of(then, [&](const auto& server) {
    const auto found = now.find(server.first);
    const double wanted = server.second * mean_of(now) / mean_of(then);
    return found != now.end() && std::abs(found->second - wanted) <= std::max(2.0, wanted / 8);
  });
}

class BalanceTroubles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!missing_here().empty()) {
      return;
    }
    imds_ = std::make_unique<FakeImds>();
    const AgentOptions options{.period = kAgentPeriod,
                               .ramp = is_long() ? 45s : 8s,
                               .imds_port = imds_->port(),
                               .absent = 1,
                               .doubtful = kDoubtful};
    fleet_ = std::make_unique<Fleet>(five_and_a_newcomer(), options,
                                     Companions{.balancer = true, .registry = true});
    if (fleet_->error().empty()) {
      run(kPeak, is_long() ? 60 : 18);
    }
  }

  static void TearDownTestSuite() {
    fleet_.reset();
    imds_.reset();
  }

  void SetUp() override {
    if (!fleet_) {
      GTEST_SKIP() << missing_here();
    }
    ASSERT_EQ(fleet_->error(), "");
  }

  static constexpr double kCalm = 0.4;
  static constexpr double kPeak = 0.58;

  struct Run {
    Record record;
    LoadReport load;
  };

  /// Load of a share of the five's capacity, and what became of it.
  static Run run(double demand, int seconds, std::vector<Act> acts = {}) {
    Load load = fleet_->load(demand * capacity_of(five_unlike()), std::chrono::seconds(seconds));
    Run run{.record = fleet_->watch(seconds, std::move(acts)), .load = load.report()};
    fmt::print("load average {:.1f}; {} of {} failed, {} missed; weights", run.record.load_average,
               run.load.failed, run.load.ended, run.load.missed);
    for (const auto& [name, weight] : weights()) {
      fmt::print(" {} {:.0f}", name, weight);
    }
    fmt::print("\n");
    return run;
  }

  [[nodiscard]] static Weights weights() {
    Weights found;
    for (const auto& server : fleet_->proxy().statistics()) {
      found[server.name] = server.weight;
    }
    return found;
  }

  [[nodiscard]] static std::string name(size_t backend) {
    return fleet_->farm()[backend]->plan().name;
  }

  /// Waits until the weights are as they were, 30 s at most.
  static void wait_until_alike(const Weights& then) {
    const auto start = Clock::now();
    while (seconds_since(start) < 30 && !alike(weights(), then)) {
      ::poll(nullptr, 0, 50);
    }
  }

  /// The weights come back while nothing else changes: after a lie, a failure.
  static void calm_down() { (void)run(kCalm, is_long() ? 30 : 4); }

  static std::unique_ptr<FakeImds> imds_;
  static std::unique_ptr<Fleet> fleet_;
};

std::unique_ptr<FakeImds> BalanceTroubles::imds_;  // NOLINT
std::unique_ptr<Fleet> BalanceTroubles::fleet_;    // NOLINT

TEST_F(BalanceTroubles, AnAgentCostsLittle) {
  expect_within_two_tries([]() -> Measured {
    const Agents& agents = fleet_->agents();
    const double before_s = agents.cpu_s(kAgentKilled);
    const Run done = run(kCalm, is_long() ? 60 : 8);
    const double took_s = done.record.readings.back().at_s;
    const double used = (agents.cpu_s(kAgentKilled) - before_s) / took_s;
    const long kib = agents.private_kib(kAgentKilled);
    // The bar itself is the long form's: what a wake-up costs is the machine's.
    const double most = is_long() ? 0.002 : 0.01;
    fmt::print("an agent at a period of 1 s: {:.3f} % of a core, {:.1f} MB private\n", 100 * used,
               static_cast<double>(kib) / 1024);
    return {.why = used > 0 && used <= most && kib > 0 && kib <= 10 * 1024
                       ? ""
                       : fmt::format("more than {:.1f} % of a core or 10 MB", 100 * most)};
  });
}

TEST_F(BalanceTroubles, AReloadOfHaproxyHasTheWeightsBackInTwoPeriods) {
  expect_within_two_tries([]() -> Measured {
    Weights before;
    double took = 0;
    bool reloaded = false;
    const Run done = run(kCalm, 5, {{1.5, [&] {
                                       before = weights();
                                       const auto start = Clock::now();
                                       reloaded = fleet_->proxy().reload();
                                       wait_until_alike(before);
                                       took = seconds_since(start);
                                     }}});
    fmt::print("weights back after {:.2f} s\n", took);
    return {.why = reloaded && took <= kTwoPeriodsS ? "" : "not within two periods"};
  });
}

TEST_F(BalanceTroubles, ARestartOfHaproxyHasTheWeightsBackInTwoPeriods) {
  expect_within_two_tries([]() -> Measured {
    double took = 0;
    bool restarted = false;
    const Run done = run(kCalm, 5, {{1.5, [&] {
                                       const auto before = weights();
                                       const auto start = Clock::now();
                                       restarted = fleet_->proxy().restart();
                                       wait_until_alike(before);
                                       took = seconds_since(start);
                                     }}});
    fmt::print("weights back after {:.2f} s\n", took);
    return {.why = restarted && took <= kTwoPeriodsS ? "" : "not within two periods"};
  });
}

TEST_F(BalanceTroubles, ABackEndThatFailsFastIsGivenAtMostOnePerCentOfTheTraffic) {
  expect_within_two_tries([]() -> Measured {
    const int seconds = is_long() ? 70 : 12;
    const Run done =
        run(kCalm, seconds, {{2.5, [] { (void)fleet_->farm()[kFailing]->fail_fast(true); }}});
    (void)fleet_->farm()[kFailing]->fail_fast(false);
    uint64_t late_failed = 0;
    uint64_t late_ended = 0;
    std::string by_second;
    for (size_t i = 0; i < done.load.seconds.size(); ++i) {
      by_second += fmt::format(" {}", done.load.seconds[i].failed);
      if (i >= 2 + 6) {
        late_failed += done.load.seconds[i].failed;
        late_ended += done.load.seconds[i].ended;
      }
    }
    const double late =
        static_cast<double>(late_failed) / static_cast<double>(std::max<uint64_t>(1, late_ended));
    fmt::print("failed by second:{}; {:.2f} % of all, {:.2f} % from 6 s after it began\n",
               by_second, 100 * done.load.failed_ratio(), 100 * late);
    calm_down();
    if (is_long() && done.load.failed_ratio() > 0.01) {
      return {.why = "more than 1 % of the whole minute is lost"};
    }
    return {.why = late <= 0.01 ? "" : "more than 1 % is lost 6 s after it began to fail"};
  });
}

/// A sensor that shows this share of the truth.
std::string lie_and_measure(Fleet& fleet, double share,
                            const std::function<std::pair<Record, LoadReport>(Act)>& run) {
  if (!fleet.agents().sensor().error().empty()) {
    return "";
  }
  const auto [record, load] = run({1.5, [&] { fleet.agents().sensor().show(share); }});
  fleet.agents().sensor().be_honest();
  const auto all = windows(record, 5, 5);
  double hottest = 0;
  for (const Window& window : all) {
    hottest = std::max(hottest, window.utilization[kDoubtful]);
  }
  fmt::print("it was at {:.0f} % at most, the mean at the end is {:.0f} %; {:.2f} % failed\n",
             hottest, all.back().mean(), 100 * load.failed_ratio());
  return load.failed_ratio() <= 0.01 && hottest < 97 ? "" : "more than 1 % is lost, or it drowns";
}

TEST_F(BalanceTroubles, AFrozenSensorLosesAtMostOnePerCentOfTheTraffic) {
  expect_within_two_tries([]() -> Measured {
    auto why = lie_and_measure(*fleet_, 0, [](Act act) {
      Run done = run(kPeak, is_long() ? 60 : 9, {std::move(act)});
      return std::pair{std::move(done.record), std::move(done.load)};
    });
    calm_down();
    return {.why = why};
  });
}

TEST_F(BalanceTroubles, ASensorThatShowsATenthLosesAtMostOnePerCentOfTheTraffic) {
  expect_within_two_tries([]() -> Measured {
    auto why = lie_and_measure(*fleet_, 0.1, [](Act act) {
      Run done = run(kPeak, is_long() ? 60 : 9, {std::move(act)});
      return std::pair{std::move(done.record), std::move(done.load)};
    });
    calm_down();
    return {.why = why};
  });
}

TEST_F(BalanceTroubles, AKilledAgentsWeightIsNeutralWithinTenSeconds) {
  double took = 30;
  double stale = 0;
  double neutral = 0;
  (void)run(kCalm, 9, {{1.5, [&] {
                          stale = weights()[name(kAgentKilled)];
                          fleet_->agents().kill(kAgentKilled);
                          const auto start = Clock::now();
                          while (seconds_since(start) < 10) {
                            auto now = weights();
                            neutral = now[name(kAgentKilled)];
                            now.erase(name(kAgentKilled));
                            if (std::abs(neutral - mean_of(now)) <= 0.2 * mean_of(now)) {
                              took = seconds_since(start);
                              break;
                            }
                            ::poll(nullptr, 0, 50);
                          }
                          fleet_->agents().start(kAgentKilled);
                        }}});
  fmt::print("from {:.0f} to {:.0f} after {:.2f} s\n", stale, neutral, took);
  EXPECT_LE(took, 10);
  EXPECT_GT(std::abs(neutral - stale), 5) << "it was neutral before: nothing was shown";
  EXPECT_EQ(fleet_->agents().error(), "");
}

TEST_F(BalanceTroubles, ANewcomerAtPeakIsNeverMoreThanTenPointsAboveTheMean) {
  expect_within_two_tries([]() -> Measured {
    if (!fleet_->agents().ended(kNewcomer)) {
      return {.why = "it has joined before"};
    }
    const int seconds = is_long() ? 100 : 16;
    const Run done = run(kPeak, seconds, {{2.5, [] { fleet_->agents().start(kNewcomer); }}});
    double above = -100;
    double last = 0;
    for (const Window& window : windows(done.record, 5, 7.5)) {
      last = window.utilization[kNewcomer];
      const double others =
          (window.mean() * static_cast<double>(window.utilization.size()) - last) /
          static_cast<double>(window.utilization.size() - 1);
      above = std::max(above, last - others);
    }
    fmt::print("at most {:.1f} points above the others' mean; {:.0f} % at the end\n", above, last);
    if (last < 10) {
      return {.why = "it got no traffic"};
    }
    return {.why = above <= 10 ? "" : "more than ten points above the mean"};
  });
}

TEST_F(BalanceTroubles, ASpotNoticeLosesNoRequest) {
  bool left = false;
  const Run done =
      run(kCalm, 12,
          {{1.5, [] { imds_->give_notice(); }},
           {2.5, [&] {
              const auto start = Clock::now();
              while (seconds_since(start) < 6 && !left) {
                const auto servers = fleet_->proxy().statistics();
                left = std::ranges::none_of(servers, [](const auto& server) {
                  return server.name == name(kInterrupted) && server.status.starts_with("UP");
                });
                ::poll(nullptr, 0, 50);
              }
              ::poll(nullptr, 0, 1000);
              fleet_->farm()[kInterrupted]->kill();
            }}});
  EXPECT_TRUE(left) << "HAProxy still sends to it";
  EXPECT_EQ(done.load.failed, 0U);
  EXPECT_GT(done.load.ended, 0U);
}

TEST_F(BalanceTroubles, WeightsHoldWhenTheStoreIsGone) {
  (void)run(kCalm, 2);
  const auto before = weights();
  Weights after;
  const Run done = run(kCalm, is_long() ? 60 : 8, {{0.5, [] { fleet_->redis().kill(); }}});
  after = weights();
  EXPECT_TRUE(alike(after, before));
  EXPECT_EQ(done.load.failed, 0U);
}

}  // namespace
}  // namespace spillway::balance
