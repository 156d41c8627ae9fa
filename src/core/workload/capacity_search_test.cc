#include "workload/capacity_search.h"

#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "base/time.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

struct Outcome {
  double capacity = 0;
  int trials = 0;
  bool at_limit = false;
};

Outcome search(const CapacitySettings& settings,
               const std::function<bool(const CapacitySearch::Trial&)>& held) {
  CapacitySearch search(settings);
  Outcome outcome;
  while (const auto trial = search.next()) {
    ++outcome.trials;
    search.on_result(held(*trial));
  }
  outcome.capacity = search.capacity();
  outcome.at_limit = search.at_limit();
  return outcome;
}

TEST(CapacitySearch, FindsTheHighestRateHeldWithinItsPrecision) {
  for (const double truth : {3.0, 87.0, 100.0, 1234.0, 50'000.0}) {
    const auto found =
        search({.precision = 0.05}, [&](const auto& trial) { return trial.rate <= truth; });
    EXPECT_LE(found.capacity, truth);
    EXPECT_GE(found.capacity, truth / 1.051);
    EXPECT_LE(found.trials, 20);
  }
}

TEST(CapacitySearch, OnlyTheLongTrialCounts) {
  // Short trials flatter the server: a queue fills in ten seconds.
  const auto found = search({.precision = 0.05}, [](const auto& trial) {
    return trial.rate <= (trial.duration >= 30s ? 800 : 1000);
  });
  EXPECT_LE(found.capacity, 800);
  EXPECT_GE(found.capacity, 700);
}

TEST(CapacitySearch, AServerThatHoldsNothingHasNoCapacity) {
  const auto found = search({}, [](const auto&) { return false; });
  EXPECT_EQ(found.capacity, 0);
  EXPECT_LE(found.trials, CapacitySearch::kTrialsMax);
}

TEST(CapacitySearch, StopsAtTheHighestRateItMayTry) {
  const auto found = search({.rate_max = 5000}, [](const auto&) { return true; });
  EXPECT_EQ(found.capacity, 5000);
  EXPECT_TRUE(found.at_limit);
}

TEST(CapacitySearch, EndsAlsoWithAServerThatAnswersByChance) {
  int call = 0;
  const auto found = search({}, [&](const auto&) { return ++call % 3 == 0; });
  EXPECT_LE(found.trials, CapacitySearch::kTrialsMax);
}

}  // namespace
}  // namespace spillway::workload
