// What a bid took, when it does not go out after all.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/money.h"
#include "bidder/caps/table.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "bidder/stages.h"

namespace spillway::bidder {
namespace {

using testing::kNowS;
using testing::Market;
using testing::request;
using testing::Rows;

/// One campaign of 2 CPM, 2000 micros an impression, with five places a day for each user.
CatalogRows rows(int64_t daily_micros) {
  Rows rows;
  auto& campaign = rows.campaign(1, 2.0);
  campaign.caps = {{.window = CapWindow::kDay, .most = 5}};
  campaign.daily_micros = daily_micros;
  return rows.rows();
}

caps::CapTable::View places(const Market& market) {
  const caps::CapKey key{.scope = CapScope::kCampaign, .window = CapWindow::kDay, .id = 1};
  return market.caps.view(caps::hash_user("x", "u").value(), key, kNowS);
}

base::Money reserved(const Market& market) {
  return market.grant.balance(1, {.now = market.now, .local_s = kNowS}).open;
}

uint64_t without_money(const Market& market) {
  return market.stats.drops[static_cast<size_t>(DropReason::kNoMoney)].value();
}

TEST(PipelineRefused, ABidThatGetsNoMoneyGivesItsPlaceUnderACapBack) {
  Market market(rows(2'000));  // enough for one of two imps
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(2));
  ASSERT_EQ(pipeline.bids(), 1U);
  EXPECT_EQ(without_money(market), 1U);
  EXPECT_EQ(places(market).pending, 1U);
  EXPECT_EQ(reserved(market), base::money_of_micros(2'000));
}

TEST(PipelineRefused, ABidThatCannotBeBookedGivesItsPlaceAndItsMoneyBack) {
  Market market(rows(100'000));
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  ASSERT_EQ(pipeline.bids(), 1U);
  market.keys = 0;  // the same bid again: its key is taken
  market.run(pipeline, request());
  EXPECT_EQ(pipeline.bids(), 0U);
  EXPECT_TRUE(pipeline.body().empty());
  EXPECT_EQ(pipeline.reason(), NoBidReason::kUnchosen);
  EXPECT_EQ(without_money(market), 1U);
  EXPECT_EQ(places(market).pending, 1U) << "of the first";
  EXPECT_EQ(reserved(market), base::money_of_micros(2'000));
}

}  // namespace
}  // namespace spillway::bidder
