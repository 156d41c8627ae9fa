#include "app/load/metrics_page.h"

#include <gtest/gtest.h>

namespace spillway::app {
namespace {

TEST(MetricsPage, SumsTheSamplesOfAFamilyAndOfNoOther) {
  constexpr auto kPage =
      "# HELP shed_total Shed.\n# TYPE shed_total counter\n"
      "shed_total{level=\"1\"} 3\nshed_total{level=\"2 } 9\"} 4.5\nshed_total_more 100\n"
      "shed_totals{a=\"b\"} 100\nmisses 7\nshed_total{level=\"3\"} NaN\n";
  EXPECT_EQ(sum_of_metric(kPage, "shed_total"), 7.5);
  EXPECT_EQ(sum_of_metric(kPage, "misses"), 7);
  EXPECT_EQ(sum_of_metric(kPage, "absent"), 0);
  EXPECT_EQ(sum_of_metric("", "misses"), 0);
}

}  // namespace
}  // namespace spillway::app
