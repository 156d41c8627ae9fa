#include "adapters/time_zones.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::adapters {
namespace {

constexpr int64_t kHour = 3600;
constexpr int64_t k2027 = 1'798'761'600;        // 2027-01-01 00:00 UTC
constexpr int64_t kSpring2027 = 1'805'007'600;  // 2027-03-14 07:00 UTC: New York goes to summer
constexpr int64_t kAutumn2027 = 1'825'567'200;  // 2027-11-07 06:00 UTC: and back

/// The offset that a table gives: what the catalog does with it.
int32_t offset(const bidder::TimeZone& zone, int64_t at_s) {
  int32_t out = zone.changes.front().offset_s;
  for (const auto& change : zone.changes) {
    out = change.from_unix_s <= at_s ? change.offset_s : out;
  }
  return out;
}

bidder::TimeZone zone_of(const char* name) {
  auto zone = time_zone(name, k2027);
  EXPECT_TRUE(zone) << name;
  return zone.value_or(bidder::TimeZone{.name = "", .changes = {{}}});
}

TEST(TimeZones, OffsetsChangeWhenClocksDo) {
  const auto zone = zone_of("America/New_York");
  EXPECT_EQ(zone.name, "America/New_York");
  EXPECT_EQ(offset(zone, k2027), -5 * kHour);
  EXPECT_EQ(offset(zone, kSpring2027 - 1), -5 * kHour);
  EXPECT_EQ(offset(zone, kSpring2027), -4 * kHour);
  EXPECT_EQ(offset(zone, kAutumn2027 - 1), -4 * kHour);
  EXPECT_EQ(offset(zone, kAutumn2027), -5 * kHour);
}

TEST(TimeZones, TablesReachFarAheadInOrder) {
  const auto zone = zone_of("Europe/Berlin");
  EXPECT_GT(zone.changes.size(), 20U);
  EXPECT_GT(zone.changes.back().from_unix_s, k2027 + 9 * 365 * 24 * kHour);
  EXPECT_TRUE(std::ranges::is_sorted(zone.changes, {}, &bidder::TimeZone::Change::from_unix_s));
}

TEST(TimeZones, OffsetsNeedNotBeWholeHours) {
  EXPECT_EQ(offset(zone_of("Asia/Kolkata"), k2027), 5 * kHour + kHour / 2);
  EXPECT_EQ(zone_of("Asia/Kolkata").changes.size(), 1U);
  EXPECT_EQ(offset(zone_of("UTC"), k2027), 0);
}

TEST(TimeZones, NamesThatTheDatabaseDoesNotHaveAreNone) {
  for (const char* name : {"", "Mars/Olympus", "../../etc/passwd", "america/new_york", "/"}) {
    EXPECT_FALSE(time_zone(name, k2027)) << name;
  }
}

TEST(TimeZones, EachZoneOfACatalogIsThereOnce) {
  bidder::CatalogRows rows;
  rows.advertisers = {{.id = 1, .time_zone = "Europe/Berlin"},
                      {.id = 2, .time_zone = "Mars/Olympus"},
                      {.id = 3},
                      {.id = 4, .time_zone = "Europe/Berlin"}};
  std::vector<std::string> names;
  for (const auto& zone : time_zones_of(rows, k2027)) {
    names.push_back(zone.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"Europe/Berlin", "UTC"}));
}

}  // namespace
}  // namespace spillway::adapters
