#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"
#include "bidder/bidder_process.h"
#include "e2e/metric_families.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

TEST(BidderMetricsPage, IsDocumentedNameByNameWithTypeAndLabels) {
  const adapters::testing::RedisProcess redis;
  ASSERT_TRUE(redis.running()) << "redis-server does not run: tools/setup check";
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 2);
  const BidderProcess bidder(
      rows, fmt::format("redis: {{ primary: \"{}\" }}\ncaps: {{ cache: {{ routing: sticky }} }}\n",
                        redis.address()));
  ASSERT_TRUE(bidder.ready());
  const Families seen = exposed(bidder.admin().call("GET", "/metrics").body);
  EXPECT_GT(seen.size(), 50U);
  expect_documented(seen, documented("spillway_bidder_"));
}

}  // namespace
}  // namespace spillway::e2e
