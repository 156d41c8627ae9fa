#include "workload/comparison.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "workload/latency_histogram.h"

namespace spillway::workload {
namespace {

/// `blocks` seconds of 500 requests whose latencies are lognormal around `median_ms`, each second
/// with a mood of its own.
std::vector<RunBlock> run(uint64_t seed, double median_ms, double error_ratio = 0,
                          size_t blocks = 30) {
  base::Rng rng(seed);
  std::vector<RunBlock> out;
  for (size_t i = 0; i < blocks; ++i) {
    const double mood = std::exp(0.1 * rng.normal());
    std::map<uint32_t, uint32_t> counts;
    RunBlock block{.offered = 500, .ended = 500};
    for (int request = 0; request < 500; ++request) {
      const double ms = median_ms * mood * std::exp(0.3 * rng.normal());
      ++counts[static_cast<uint32_t>(
          LatencyBuckets::of(base::Duration(static_cast<int64_t>(ms * 1e6))))];
      block.failed += rng.uniform() < error_ratio ? 1 : 0;
    }
    block.latency.assign(counts.begin(), counts.end());
    out.push_back(std::move(block));
  }
  return out;
}

const Difference& named(const std::vector<Difference>& all, std::string_view name) {
  for (const Difference& one : all) {
    if (one.name == name) {
      return one;
    }
  }
  ADD_FAILURE() << name;
  return all.front();
}

TEST(Comparison, AFifthSlowerIsFoundAndItsIntervalHoldsTheTruth) {
  const auto differences = compare_runs(run(1, 10), run(2, 12), {});
  const Difference& p50 = named(differences, "p50_ms");
  EXPECT_EQ(p50.verdict, Verdict::kWorse);
  EXPECT_GT(p50.low, 0.5);
  EXPECT_LT(p50.high, 4);
  EXPECT_NEAR(p50.a, 10, 0.6);
  const auto back = compare_runs(run(2, 12), run(1, 10), {});
  EXPECT_EQ(named(back, "p50_ms").verdict, Verdict::kBetter);
}

TEST(Comparison, TwoRunsOfTheSameAreRarelyCalledDifferent) {
  int different = 0;
  constexpr int kPairs = 80;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    const auto differences = compare_runs(run(1000 + pair, 10), run(5000 + pair, 10),
                                          {.resamples = 200, .confidence = 0.95});
    different += named(differences, "p50_ms").verdict != Verdict::kSame ? 1 : 0;
  }
  EXPECT_GT(different, 0) << "an interval that never errs is too wide";
  EXPECT_LT(different, 12) << "expected 4";
}

TEST(Comparison, MoreErrorsAreWorseAndBidsHaveNoBetter) {
  const auto differences = compare_runs(run(1, 10, 0.01), run(2, 10, 0.05), {});
  EXPECT_EQ(named(differences, "error_ratio").verdict, Verdict::kWorse);
  auto bids = run(3, 10);
  for (RunBlock& block : bids) {
    block.bids = 400;
  }
  EXPECT_EQ(named(compare_runs(run(3, 10), bids, {}), "bid_ratio").verdict, Verdict::kSame);
}

TEST(Comparison, TheSameSeedGivesTheSameInterval) {
  const auto one = compare_runs(run(1, 10), run(2, 11), {.seed = 7});
  const auto two = compare_runs(run(1, 10), run(2, 11), {.seed = 7});
  EXPECT_EQ(one[2].low, two[2].low);
  EXPECT_EQ(one[2].high, two[2].high);
}

TEST(Comparison, ALongRunIsJoinedAndKeepsItsFigures) {
  const auto differences = compare_runs(run(1, 10, 0, 600), run(2, 10, 0, 31), {});
  EXPECT_NEAR(named(differences, "p50_ms").a, 10, 0.2);
  EXPECT_NEAR(named(differences, "achieved_ratio").a, 1, 1e-9);
}

}  // namespace
}  // namespace spillway::workload
