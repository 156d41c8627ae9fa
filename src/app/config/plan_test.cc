#include "app/config/plan.h"

#include <gtest/gtest.h>

#include "app/config/config_fixture.h"

namespace spillway::app {
namespace {

using testing::good;

TEST(ConnectionPlan, CallersNeverTakeTheFilesOfTheDsps) {
  const auto config =
      good("dsps:\n  - { name: a, endpoint: \"http://127.0.0.1:1/\", max_connections: 300 }\n");
  EXPECT_EQ(callers_within(config, 1'000'000), 10'000U);
  EXPECT_EQ(callers_within(config, 1'024), 1'024U - 300 - 100 - 64);
  EXPECT_EQ(callers_within(config, 200), 50U);
  EXPECT_EQ(callers_within(config, 0), 1U);
}

TEST(ConnectionPlan, WarnsWhenTheExpectedRateNeedsMoreConnectionsThanThereAre) {
  const auto config = good(R"(
exchange: { workers: 4, limits: { connections: 10 } }
dsps:
  - { name: a, endpoint: "https://h/", max_connections: 40, expect: { qps: 1000, latency: 80ms } }
  - { name: b, endpoint: "https://h/", max_connections: 400, expect: { qps: 1000, latency: 80ms } }
)");
  const auto plan = plan_connections(config, {.ephemeral_ports = 28'232, .open_files = 100'000});
  ASSERT_EQ(plan.endpoints.size(), 2U);
  EXPECT_DOUBLE_EQ(plan.endpoints[0].in_flight_mean, 80.0);
  EXPECT_EQ(plan.endpoints[0].per_worker, 10U);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_NE(plan.warnings[0].find("calls will be refused"), std::string::npos);
  EXPECT_EQ(plan_connections(config, {.ephemeral_ports = 450, .open_files = 50}).warnings.size(),
            3U);
}

TEST(ConnectionPlan, DealsEveryConnectionAndAtLeastOneToEachWorker) {
  EXPECT_EQ(connections_of_worker(10, 4, 0), 3U);
  EXPECT_EQ(connections_of_worker(10, 4, 3), 2U);
  EXPECT_EQ(connections_of_worker(2, 4, 3), 1U);
}

}  // namespace
}  // namespace spillway::app
