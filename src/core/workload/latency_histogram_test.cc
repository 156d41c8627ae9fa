#include "workload/latency_histogram.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

TEST(LatencyHistogram, EveryValueIsWithinOnePercentOfItsBucketsMiddle) {
  base::Rng rng(7);
  for (int i = 0; i < 200'000; ++i) {
    const base::Duration value(static_cast<int64_t>(std::exp(rng.uniform(9.0, 25.0))));
    const size_t bucket = LatencyBuckets::of(value);
    const double middle = base::to_ms(LatencyBuckets::middle(bucket));
    ASSERT_NEAR(middle / base::to_ms(value), 1, 0.01) << value.count();
    ASSERT_LT(value, LatencyBuckets::upper(bucket));
    ASSERT_TRUE(bucket == 0 || value >= LatencyBuckets::upper(bucket - 1));
  }
}

TEST(LatencyHistogram, QuantilesAreThoseOfTheSortedValuesWithinOnePercent) {
  base::Rng rng(3);
  LatencyHistogram histogram;
  std::vector<base::Duration> values;
  for (int i = 0; i < 50'000; ++i) {
    values.emplace_back(static_cast<int64_t>(1e6 * std::exp(rng.normal())));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double ratio : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = quantile_rank(ratio, values.size());
    EXPECT_NEAR(base::to_ms(histogram.quantile(ratio)) / base::to_ms(values[rank - 1]), 1, 0.01);
  }
}

TEST(LatencyHistogram, TheMergeOfPartsIsTheHistogramOfTheWhole) {
  base::Rng rng(9);
  LatencyHistogram whole;
  LatencyHistogram parts[2];
  for (int i = 0; i < 10'000; ++i) {
    const base::Duration value(static_cast<int64_t>(rng.below(2'000'000'000)));
    whole.record(value);
    parts[i % 2].record(value);
  }
  parts[0].merge(parts[1]);
  EXPECT_EQ(parts[0].dump(), whole.dump());
}

TEST(LatencyHistogram, ADumpReadBackIsTheSame) {
  LatencyHistogram histogram;
  for (const base::Duration value : {base::Duration(0ns), base::Duration(50us), base::Duration(1ms),
                                     base::Duration(1ms), base::Duration(2h)}) {
    histogram.record(value);
  }
  const auto back = LatencyHistogram::parse(histogram.dump());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->dump(), histogram.dump());
  EXPECT_EQ(back->total(), 5);
}

TEST(LatencyHistogram, WhatIsNoDumpIsRefusedWithItsLine) {
  const auto line = [](const char* text) {
    const auto parsed = LatencyHistogram::parse(text);
    return parsed ? 0 : parsed.error();
  };
  EXPECT_EQ(line(""), 1);
  EXPECT_EQ(line("value\n1,2,3\n"), 1);
  EXPECT_EQ(line("low_ns,high_ns,count\n0,100\n"), 2);
  EXPECT_EQ(line("low_ns,high_ns,count\n0,100,1\n0,100,1,4\n"), 3);
  EXPECT_EQ(line("low_ns,high_ns,count\n0,100,-1\n"), 2);
  EXPECT_EQ(line("low_ns,high_ns,count\n0,120,1\n"), 2) << "another bucket layout";
  EXPECT_EQ(line("low_ns,high_ns,count"), 0);
}

TEST(LatencyHistogram, ValuesOutOfRangeStayCounted) {
  LatencyHistogram histogram;
  histogram.record(-1s);
  histogram.record(24h);
  EXPECT_EQ(histogram.total(), 2);
  EXPECT_GT(histogram.quantile(1.0), 60s);
  EXPECT_EQ(LatencyHistogram().quantile(0.99), 0ns);
}

}  // namespace
}  // namespace spillway::workload
