#include "app/bidder/loaded_catalog.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rates.h"
#include "bidder/model.h"
#include "bidder/pacing/pacer.h"
#include "bidder/time_zone.h"

namespace spillway::app::bidding {
namespace {

using bidder::PacedCampaign;

constexpr int64_t kBegin = 1'767'225'600;
constexpr int64_t kDayS = 86'400;

/// One campaign of an advertiser five hours behind UTC, with these ends of its own and its line
/// items.
int64_t end_of(std::optional<int64_t> campaign_end,
               const std::vector<std::optional<int64_t>>& item_ends) {
  bidder::CatalogRows rows;
  rows.advertisers.push_back({.id = 1, .name = "a", .domain = "a.example", .time_zone = "West"});
  bidder::Campaign campaign;
  campaign.id = 1;
  campaign.advertiser = 1;
  campaign.name = "c";
  campaign.goal_value_micros = 1'000'000;
  campaign.most = {1'000'000};
  campaign.end_s = campaign_end;
  rows.campaigns.push_back(campaign);
  for (size_t i = 0; i < item_ends.size(); ++i) {
    bidder::LineItem item;
    item.id = static_cast<int64_t>(i) + 1;
    item.campaign = 1;
    item.end_s = item_ends[i];
    rows.line_items.push_back(item);
  }
  const bidder::TimeZone west{.name = "West",
                              .changes = {{.from_unix_s = 0, .offset_s = -5 * 3'600}}};
  const auto loaded = compile(rows, {west}, 1, base::Rates{}, 0);
  EXPECT_EQ(loaded.pacing.size(), 1U);
  return loaded.pacing.empty() ? 0 : loaded.pacing.front().end_local_s;
}

TEST(LoadedCatalog, AFlightEndsWithItsCampaignOrTheLastOfItsLineItems) {
  const int64_t first = kBegin + kDayS;
  const int64_t second = kBegin + 2 * kDayS;
  constexpr int64_t kWest = -5 * 3'600;
  EXPECT_EQ(end_of(second, {std::nullopt, std::nullopt}), second + kWest);
  EXPECT_EQ(end_of(std::nullopt, {first, second}), second + kWest);
  EXPECT_EQ(end_of(first, {second, second}), first + kWest);
  EXPECT_EQ(end_of(std::nullopt, {first, std::nullopt}), PacedCampaign::kNoEnd);
  EXPECT_EQ(end_of(std::nullopt, {}), PacedCampaign::kNoEnd) << "nothing of it serves";
}

}  // namespace
}  // namespace spillway::app::bidding
