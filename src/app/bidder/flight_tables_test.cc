#include "app/bidder/flight_tables.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::app::bidding {
namespace {

constexpr int64_t kNoonS = 1'791'979'200;  // Wednesday, 14 October 2026, 12:00 UTC.

/// One line item of an advertiser in India, from `start_s` on.
bidder::Catalog catalog(int64_t start_s) {
  bidder::CatalogRows rows;
  rows.advertisers.push_back(
      {.id = 1, .name = "a", .domain = "a.example", .categories = {}, .time_zone = "Half"});
  bidder::Campaign campaign;
  campaign.id = 1;
  campaign.advertiser = 1;
  campaign.name = "c";
  campaign.goal_value_micros = 1'000'000;
  campaign.most = {1'000'000};
  rows.campaigns.push_back(campaign);
  bidder::LineItem item;
  item.id = 1;
  item.campaign = 1;
  item.start_s = start_s;
  rows.line_items.push_back(item);
  return {rows, {{.name = "Half", .changes = {{.from_unix_s = 0, .offset_s = 19'800}}}}, 1};
}

bool covers(const FlightTables& tables, size_t which, int64_t unix_s) {
  return tables.at(which) != nullptr && tables.at(which)->covers(1, unix_s);
}

TEST(FlightTables, there_is_always_one_for_now_and_one_for_the_time_behind_it) {
  const auto soon = catalog(kNoonS + 100);
  FlightTables tables = flight_tables(soon, kNoonS);
  ASSERT_EQ(soon.items().size(), 1U);
  int made = 0;
  for (int64_t at = kNoonS; at < kNoonS + 7'200; ++at) {
    // Who serves at this second, before anybody has looked at the clock, has one of the two.
    ASSERT_TRUE(covers(tables, 0, at) || covers(tables, 1, at)) << at - kNoonS;
    made += advance(tables, soon, at) ? 1 : 0;
    ASSERT_TRUE(covers(tables, 0, at)) << at - kNoonS;
    ASSERT_EQ(tables[1]->from_s, tables[0]->until_s);
    ASSERT_EQ(tables[0]->bits[0], at < kNoonS + 100 ? 0U : 1U) << at - kNoonS;
  }
  EXPECT_EQ(made, 4) << "its begin, and the hours of two time zones";
}

TEST(FlightTables, a_clock_that_leaps_or_is_set_back_has_them_made_anew) {
  const auto some = catalog(kNoonS);
  ASSERT_EQ(some.items().size(), 1U);
  FlightTables tables = flight_tables(some, kNoonS);
  EXPECT_FALSE(advance(tables, some, kNoonS + 1));
  for (const int64_t at : {kNoonS + 1'000'000, kNoonS - 1'000'000}) {
    EXPECT_TRUE(advance(tables, some, at));
    EXPECT_TRUE(covers(tables, 0, at));
    EXPECT_EQ(tables[0]->bits[0], at < kNoonS ? 0U : 1U);
    EXPECT_FALSE(advance(tables, some, at));
  }
}

}  // namespace
}  // namespace spillway::app::bidding
