#include "workload/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

std::vector<base::Duration> sorted_samples(const Latency& latency, size_t count) {
  base::Rng rng(7);
  std::vector<base::Duration> samples(count);
  for (auto& sample : samples) {
    sample = latency.sample(rng);
  }
  std::ranges::sort(samples);
  return samples;
}

double sampled_ms(const std::vector<base::Duration>& sorted, double ratio) {
  return base::to_ms(sorted[static_cast<size_t>(ratio * static_cast<double>(sorted.size()))]);
}

TEST(Latency, AConstantLatencyNeverVaries) {
  const auto samples = sorted_samples(Latency::constant(12ms), 100);
  EXPECT_EQ(samples.front(), 12ms);
  EXPECT_EQ(samples.back(), 12ms);
}

TEST(Latency, LognormalSamplesHaveTheMedianAndTheSpreadAskedFor) {
  const auto samples = sorted_samples(Latency::lognormal(40ms, 0.4), 200'000);
  EXPECT_NEAR(sampled_ms(samples, 0.5), 40.0, 0.4);
  EXPECT_NEAR(sampled_ms(samples, 0.9), 40.0 * std::exp(0.4 * 1.281552), 1.0);
  EXPECT_NEAR(sampled_ms(samples, 0.99), 40.0 * std::exp(0.4 * 2.326348), 2.5);
}

TEST(Latency, ParetoSamplesStartAtTheMinimumAndEndAtTheCap) {
  const auto samples = sorted_samples(Latency::pareto(10ms, 1.2, 2s), 200'000);
  EXPECT_GE(samples.front(), 10ms);
  EXPECT_EQ(samples.back(), 2s);
  EXPECT_NEAR(sampled_ms(samples, 0.5), 10.0 * std::pow(2.0, 1 / 1.2), 0.3);
  EXPECT_NEAR(sampled_ms(samples, 0.9), 10.0 * std::pow(10.0, 1 / 1.2), 2.0);
}

TEST(Latency, TheComputedQuantileIsTheSampledOne) {
  for (const auto& latency :
       {Latency::constant(5ms), Latency::lognormal(60ms, 0.6), Latency::pareto(20ms, 2.5, 1s)}) {
    const auto samples = sorted_samples(latency, 200'000);
    for (const double ratio : {0.1, 0.5, 0.9, 0.99}) {
      const double computed = base::to_ms(latency.quantile(ratio));
      EXPECT_NEAR(sampled_ms(samples, ratio), computed, 0.03 * computed)
          << to_string(latency.kind) << " at " << ratio;
    }
  }
}

TEST(Latency, TheSameSeedGivesTheSameLatencies) {
  EXPECT_EQ(sorted_samples(Latency::lognormal(40ms, 0.4), 50),
            sorted_samples(Latency::lognormal(40ms, 0.4), 50));
}

TEST(Latency, ASettingOutOfRangeIsNamed) {
  EXPECT_TRUE(validate(Latency::lognormal(40ms, 0.4)).empty());
  const auto problems = validate(Latency::pareto(10ms, 0, 5ms));
  ASSERT_EQ(problems.size(), 2);
  EXPECT_EQ(problems[0].key, "alpha");
  EXPECT_EQ(problems[1].key, "cap");
}

}  // namespace
}  // namespace spillway::workload
