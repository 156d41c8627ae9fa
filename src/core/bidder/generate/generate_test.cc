// The generated catalogs and users against the figures of the workload that they stand for.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/catalog.h"
#include "bidder/generate/catalogs.h"
#include "bidder/generate/users.h"
#include "bidder/model.h"
#include "bidder/row_order.h"
#include "bidder/time_zone.h"

namespace spillway::bidder::generate {
namespace {

/// Line items of active campaigns: in W1 one a campaign, with its id.
std::vector<const LineItem*> active_items(const CatalogRows& rows) {
  std::vector<const LineItem*> out;
  for (size_t i = 0; i < rows.campaigns.size(); ++i) {
    if (rows.campaigns[i].status == Status::kActive) {
      out.push_back(&rows.line_items.at(i));
    }
  }
  return out;
}

std::map<std::string, size_t> postings(const std::vector<const LineItem*>& items,
                                       Dimension dimension) {
  std::map<std::string, size_t> out;
  for (const LineItem* item : items) {
    for (const std::string& value : item->targeting.of(dimension).include) {
      ++out[value];
    }
  }
  return out;
}

double share(const std::vector<const LineItem*>& items,
             const std::function<bool(const Targeting&)>& holds) {
  const auto found =
      std::ranges::count_if(items, [&](const LineItem* item) { return holds(item->targeting); });
  return static_cast<double>(found) / static_cast<double>(items.size());
}

// 3,082 in the workload; three standard deviations of 5/8 of 5,000 are 103.
TEST(ParityCatalog, FiveOfEightCampaignsAreActive) {
  const CatalogRows rows = parity_catalog({});
  EXPECT_EQ(rows.campaigns.size(), 5'000U);
  EXPECT_EQ(rows.line_items.size(), 5'000U);
  EXPECT_NEAR(static_cast<double>(active_items(rows).size()), 3'125, 103);
  EXPECT_NEAR(static_cast<double>(rows.creatives.size()), 9'950, 200);
}

TEST(ParityCatalog, PostingsHaveTheSizesOfTheWorkload) {
  const CatalogRows rows = parity_catalog({});
  const auto items = active_items(rows);
  const auto segments = postings(items, Dimension::kSegment);
  std::vector<size_t> sizes;
  sizes.reserve(segments.size());
  for (const auto& [segment, size] : segments) {
    sizes.push_back(size);
  }
  std::ranges::sort(sizes, std::greater<>{});
  constexpr std::array<double, 5> kLargest = {1908, 1257, 945, 802, 621};
  for (size_t i = 0; i < kLargest.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(sizes.at(i)), kLargest.at(i), kLargest.at(i) * 0.10) << i;
  }
  EXPECT_NEAR(static_cast<double>(sizes.size()), 630, 63);
  EXPECT_EQ(sizes.at(sizes.size() / 2), 2U);
  auto metros = postings(items, Dimension::kMetro);
  EXPECT_NEAR(static_cast<double>(metros["501"]), 1'885, 100);
  EXPECT_NEAR(static_cast<double>(metros["539"]), 38, 20);
  for (const char* nobodys : {"511", "534", "819"}) {
    EXPECT_FALSE(metros.contains(nobodys));
  }
}

TEST(ParityCatalog, DimensionsAreLeftOpenInTheSharesOfTheWorkload) {
  const CatalogRows rows = parity_catalog({});
  const auto items = active_items(rows);
  const auto open = [](Dimension dimension) {
    return
        [dimension](const Targeting& targeting) { return !targeting.of(dimension).restricted(); };
  };
  EXPECT_NEAR(share(items, open(Dimension::kSegment)), 611.0 / 3082, 0.022);
  EXPECT_NEAR(share(items, open(Dimension::kCountry)), 446.0 / 3082, 0.020);
  EXPECT_NEAR(share(items, open(Dimension::kDeviceType)), 0.25, 0.024);
  EXPECT_NEAR(share(items, open(Dimension::kMedia)), 0.15, 0.020);
  EXPECT_NEAR(share(items, [](const Targeting& targeting) { return targeting.hours->all(); }), 0.20,
              0.022);
}

TEST(ParityCatalog, MoneyAndCapsHaveTheMeansOfTheWorkload) {
  const CatalogRows rows = parity_catalog({});
  double price_cents = 0;
  double daily = 0;
  double hourly = 0;
  double hourly_ones = 0;
  double budget = 0;
  for (const Campaign& campaign : rows.campaigns) {
    price_cents += static_cast<double>(campaign.most.micros) / 10'000;
    budget += static_cast<double>(campaign.daily_micros) / 1e6;
    ASSERT_EQ(campaign.caps.size(), 2U);
    hourly += campaign.caps[0].most;
    hourly_ones += campaign.caps[0].most == 1 ? 1 : 0;
    daily += campaign.caps[1].most;
  }
  const auto count = static_cast<double>(rows.campaigns.size());
  EXPECT_NEAR(price_cents / count, 277, 8);
  EXPECT_NEAR(budget / count, 502'000, 15'000);
  EXPECT_NEAR(daily / count, 25, 1);
  EXPECT_NEAR(hourly / count, 4.3, 0.3);
  EXPECT_NEAR(hourly_ones / count, 0.248, 0.025);
}

/// The rules of the system that the workload was measured on: metros or countries, campaigns
/// without segments or places left out, users nobody knows matching every segment.
class OldRules {
 public:
  explicit OldRules(const CatalogRows& rows) : items_(active_items(rows)) {
    for (const Creative& creative : rows.creatives) {
      media_[creative.line_item].insert(creative.media);
    }
  }

  struct Request {
    std::string metro;
    std::string device;
    Media media = Media::kBanner;
    bool known = false;
    std::set<std::string> segments;
    size_t hour = 0;
  };

  [[nodiscard]] size_t eligible(const Request& request) const {
    return static_cast<size_t>(std::ranges::count_if(items_, [&](const LineItem* item) {
      const Targeting& targeting = item->targeting;
      const auto has = [&targeting](Dimension dimension, const std::string& value) {
        const auto& list = targeting.of(dimension).include;
        return std::ranges::find(list, value) != list.end();
      };
      const auto open = [&targeting](Dimension dimension) {
        return targeting.of(dimension).include.empty();
      };
      const auto& wanted = targeting.of(Dimension::kSegment).include;
      const bool segment = !request.known || std::ranges::any_of(wanted, [&request](const auto& s) {
        return request.segments.contains(s);
      });
      return segment && has(Dimension::kMetro, request.metro) &&
             (open(Dimension::kDeviceType) || has(Dimension::kDeviceType, request.device)) &&
             media_.at(item->id).contains(request.media) && targeting.hours->test(request.hour);
    }));
  }

 private:
  std::vector<const LineItem*> items_;
  std::map<int64_t, std::set<Media>> media_;
};

TEST(ParityCatalog, TheRulesOfTheOldSystemFindAsManyAsTheyDid) {
  constexpr std::array<const char*, 10> kMetros = {"501", "803", "602", "623", "618",
                                                   "819", "807", "511", "534", "524"};
  const CatalogRows rows = parity_catalog({});
  const OldRules rules(rows);
  const Users users = Users::parity();
  base::Rng rng(1);
  std::vector<uint32_t> drawn;
  double noon = 0;
  double night = 0;
  double pairs = 0;
  int bids = 0;
  constexpr int kRequests = 1'000;
  for (int i = 0; i < kRequests; ++i) {
    OldRules::Request request;
    request.metro = kMetros.at(static_cast<size_t>(i) % kMetros.size());
    const double device = rng.uniform();
    request.device = device < 0.728 ? "2" : device < 0.903 ? "1" : "4";
    const double u = rng.uniform();
    const auto user =
        static_cast<uint64_t>(rng.uniform() < 0.8 ? std::pow(50'000, u) : 1 + u * 100'000'000);
    request.known = users.segments(user, drawn);
    for (const uint32_t segment : drawn) {
      request.segments.insert(std::to_string(segment));
    }
    size_t found = 0;
    for (const Media media : {Media::kVideo, Media::kBanner}) {
      request.media = media;
      request.hour = 12;
      const size_t at_noon = rules.eligible(request);
      pairs += static_cast<double>(std::min<size_t>(at_noon, 20)) / kRequests;
      noon += static_cast<double>(at_noon) / 2 / kRequests;
      found += at_noon > 0 ? 1 : 0;
      request.hour = 7;
      night += static_cast<double>(rules.eligible(request)) / 2 / kRequests;
    }
    bids += found > 0 ? 1 : 0;
    EXPECT_TRUE(found == 0 || found == 2);
  }
  EXPECT_EQ(bids, 700);
  EXPECT_NEAR(noon, 297.5, 30);
  EXPECT_NEAR(pairs, 25.8, 1);
  EXPECT_NEAR(night, 84, 15);
}

TEST(ParityUsers, HaveTheSegmentsOfTheWorkload) {
  const Users users = Users::parity();
  std::vector<uint32_t> drawn;
  double sum = 0;
  constexpr uint64_t kSample = 2'000;
  for (uint64_t user = 1; user <= kSample; ++user) {
    ASSERT_TRUE(users.segments(user * 50, drawn));
    ASSERT_GE(drawn.size(), 50U);
    ASSERT_LE(drawn.size(), 200U);
    EXPECT_EQ(std::set<uint32_t>(drawn.begin(), drawn.end()).size(), drawn.size());
    EXPECT_LE(*std::ranges::max_element(drawn), 1'000U);
    sum += static_cast<double>(drawn.size());
  }
  EXPECT_NEAR(sum / kSample, 125, 4);
  EXPECT_TRUE(users.segments(100'000, drawn));
  EXPECT_FALSE(users.segments(100'001, drawn));
  EXPECT_FALSE(users.segments(0, drawn));
}

TEST(HonestUsers, AreUnknownWithoutSegmentsOrWithSome) {
  const Users users = Users::honest();
  std::vector<uint32_t> drawn;
  int unknown = 0;
  int without = 0;
  constexpr int kSample = 4'000;
  for (uint64_t i = 0; i < kSample; ++i) {
    const bool known = users.segments(1 + i * 24'999, drawn);
    unknown += known ? 0 : 1;
    without += known && drawn.empty() ? 1 : 0;
  }
  EXPECT_NEAR(unknown, kSample * 0.05, 45);
  EXPECT_NEAR(without, kSample * 0.095, 60);
  EXPECT_EQ(users.id(17), "u-17");
}

TEST(GeneratedCatalogs, AreTheSameForTheSameSettingsAndCanonical) {
  for (const auto generate : {parity_catalog, honest_catalog}) {
    const CatalogSettings settings{.seed = 3, .campaigns = 300, .today_s = 1'800'000'000};
    CatalogRows rows = generate(settings);
    EXPECT_EQ(rows, generate(settings));
    CatalogRows sorted = rows;
    put_in_order(sorted);
    EXPECT_EQ(rows, sorted);
    EXPECT_NE(rows, generate({.seed = 4, .campaigns = 300, .today_s = 1'800'000'000}));
  }
}

TEST(GeneratedCatalogs, HaveNoProblems) {
  std::vector<TimeZone> zones;
  for (const char* name : {"America/New_York", "America/Los_Angeles", "America/Sao_Paulo",
                           "Europe/London", "Europe/Berlin", "Asia/Kolkata", "Asia/Tokyo"}) {
    zones.push_back({.name = name, .changes = {}});
  }
  for (const auto generate : {parity_catalog, honest_catalog}) {
    const CatalogRows rows = generate({.campaigns = 3'000, .today_s = 1'800'000'000});
    const auto problems = check_rows(rows, zones);
    EXPECT_TRUE(problems.empty());
    for (size_t i = 0; i < std::min<size_t>(problems.size(), 5); ++i) {
      ADD_FAILURE() << to_string(problems[i].kind) << " " << problems[i].id << ": "
                    << problems[i].field << ": " << problems[i].message << ": "
                    << problems[i].value;
    }
  }
}

TEST(HonestCatalog, RestrictsEveryDimensionBothWays) {
  const CatalogRows rows = honest_catalog({.campaigns = 4'000, .today_s = 1'800'000'000});
  std::array<size_t, kDimensions> included{};
  std::array<size_t, kDimensions> excluded{};
  size_t radii = 0;
  for (const LineItem& item : rows.line_items) {
    radii += item.targeting.radii.size();
    for (size_t i = 0; i < kDimensions; ++i) {
      included.at(i) += item.targeting.lists.at(i).include.empty() ? 0 : 1;
      excluded.at(i) += item.targeting.lists.at(i).exclude.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(radii, 0U);
  for (size_t i = 0; i < kDimensions; ++i) {
    EXPECT_GT(included.at(i), 0U) << i;
    const auto dimension = static_cast<Dimension>(i);
    EXPECT_EQ(excluded.at(i) > 0, dimension != Dimension::kMedia && dimension != Dimension::kDeal)
        << i;
  }
  const auto open = std::ranges::count(rows.campaigns, CapFailure::kOpen, &Campaign::cap_failure);
  EXPECT_NEAR(static_cast<double>(open), 800, 100);
  const auto flights = std::ranges::count_if(
      rows.campaigns, [](const Campaign& campaign) { return campaign.start_s.has_value(); });
  EXPECT_NEAR(static_cast<double>(flights), 1'200, 100);
}

}  // namespace
}  // namespace spillway::bidder::generate
