#include "bidder/catalog.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/canonical.h"
#include "bidder/model.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

/// Rows without a problem: one of each kind, with id 1.
CatalogRows sound() {
  SmallCatalog small;
  small.add(1);
  return small.rows;
}

/// What is wrong with rows of which one has been spoilt.
template <typename Spoil>
std::string problem_of(Spoil spoil) {
  CatalogRows rows = sound();
  spoil(rows);
  std::string out;
  for (const Problem& problem : check_rows(rows, {})) {
    out += (out.empty() ? "" : "; ") + std::string(to_string(problem.kind)) + " " +
           std::to_string(problem.id) + ": " + problem.field + " " + problem.message + " (" +
           problem.value + ")";
  }
  return out;
}

TEST(CheckRows, sound_rows_have_no_problem) {
  EXPECT_EQ(problem_of([](CatalogRows&) {}), "");
}

TEST(CheckRows, rows_without_a_parent_are_named) {
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.campaigns[0].advertiser = 7; }),
            "campaign 1: advertiser names a row that is not there (7)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.line_items[0].campaign = 7; }),
            "line_item 1: campaign names a row that is not there (7)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.creatives[0].line_item = 7; }),
            "creative 1: line_item names a row that is not there (7)");
}

TEST(CheckRows, ids_are_positive_and_unique_in_their_kind) {
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.creatives[0].id = -3; }),
            "creative -3: id must be positive (-3)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.creatives.push_back(rows.creatives[0]); }),
            "creative 1: id is the id of another row too (1); "
            "creative 1: id is the id of another row too (1)");
}

TEST(CheckRows, money_is_not_negative_and_margins_are_shares) {
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.campaigns[0].daily_micros = -1; }),
            "campaign 1: daily_micros must not be negative (-1)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.campaigns[0].lifetime_micros = -1; }),
            "campaign 1: lifetime_micros must not be negative (-1)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.campaigns[0].most.micros = -5; }),
            "campaign 1: most must be positive (-5)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.campaigns[0].goal_value_micros = 0; }),
            "campaign 1: goal_value_micros must be positive (0)");
  for (const double margin : {1.0, -0.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_NE(problem_of([&](CatalogRows& rows) { rows.campaigns[0].margin_ratio = margin; }), "");
  }
  EXPECT_EQ(
      problem_of([](CatalogRows& rows) { rows.campaigns[0].currency.code = {'X', 'Q', 'Q'}; }),
      "campaign 1: currency is no currency of ISO 4217 (XQQ)");
}

TEST(CheckRows, flights_end_after_they_begin) {
  EXPECT_EQ(problem_of([](CatalogRows& rows) {
              rows.line_items[0].start_s = 100;
              rows.line_items[0].end_s = 100;
            }),
            "line_item 1: end_s must be after the start (100)");
}

TEST(CheckRows, caps_are_of_known_kinds_and_named_once) {
  EXPECT_EQ(
      problem_of([](CatalogRows& rows) { rows.campaigns[0].caps = {{.most = 3}, {.most = 4}}; }),
      "campaign 1: caps has two caps of one scope, window and kind (4)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) {
              rows.campaigns[0].caps = {{.scope = static_cast<CapScope>(9), .most = 3}};
            }),
            "campaign 1: caps has an unknown scope, window or kind ()");
}

TEST(CheckRows, values_of_lists_are_values_of_their_dimension) {
  const struct {
    Dimension dimension;
    std::string_view bad, good;
  } cases[] = {{Dimension::kCountry, "XX", "GBR"},
               {Dimension::kSize, "300", "300x250"},
               {Dimension::kDeviceType, "phone", "4"},
               {Dimension::kMedia, "movie", "video"},
               {Dimension::kLanguage, "e", "pt-BR"},
               {Dimension::kCategory, "cars", "iab2-1"},
               {Dimension::kCategory, "IAB27", "IAB26"},
               {Dimension::kDomain, "a b", "A.example."},
               {Dimension::kSegment, "", "x"}};

  for (const auto& c : cases) {
    const auto with = [&](std::string_view value) {
      return problem_of([&](CatalogRows& rows) {
        rows.line_items[0].targeting.of(c.dimension).exclude = {std::string(value)};
      });
    };
    EXPECT_TRUE(with(c.bad).starts_with("line_item 1: targeting." +
                                        std::string(to_string(c.dimension)) + ".exclude "))
        << with(c.bad);
    EXPECT_EQ(with(c.good), "");
  }
}

TEST(CheckRows, circles_are_on_the_ground) {
  for (const Radius& bad : {Radius{.lat = 91, .km = 1}, Radius{.lon = -181, .km = 1},
                            Radius{.km = 0}, Radius{.km = std::numeric_limits<double>::infinity()},
                            Radius{.lat = std::numeric_limits<double>::quiet_NaN(), .km = 1}}) {
    EXPECT_NE(problem_of([&](CatalogRows& rows) { rows.line_items[0].targeting.radii = {bad}; }),
              "");
  }
}

TEST(CheckRows, advertisers_have_a_domain_and_a_known_clock) {
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.advertisers[0].time_zone = "Mars/Base"; }),
            "advertiser 1: time_zone is no time zone that is known here (Mars/Base)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.advertisers[0].domain = ""; }),
            "advertiser 1: domain must be a domain such as shop.example ()");
}

TEST(CheckRows, creatives_have_what_their_medium_needs) {
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.creatives[0].w = rows.creatives[0].h = 0; }),
            "creative 1: w must be there, and h, for a banner (0x0)");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.creatives[0].markup = ""; }),
            "creative 1: markup must not be empty ()");
  EXPECT_EQ(problem_of([](CatalogRows& rows) { rows.creatives[0].media = Media::kVideo; }),
            "creative 1: duration_s must be there for video and audio (0); "
            "creative 1: mime must be there for video and audio ()");
}

TEST(Catalog, rows_with_a_problem_are_left_out_with_what_is_below_them_and_counted) {
  SmallCatalog small;
  small.add(1);
  small.add(2);
  small.add(3);
  small.rows.campaigns[0].margin_ratio = 2;
  small.rows.line_items[1].targeting.of(Dimension::kCountry).include = {"US", "Atlantis"};
  const Catalog catalog = small.compile();
  ASSERT_EQ(catalog.items().size(), 1U);
  EXPECT_EQ(catalog.items()[0].id, 3);
  EXPECT_EQ(catalog.left_out().broken, (std::array<size_t, kRowKinds>{0, 1, 1, 0}));
  EXPECT_EQ(catalog.left_out().beneath, (std::array<size_t, kRowKinds>{0, 0, 1, 2}));
  EXPECT_EQ(catalog.creatives().size(), 1U);
}

TEST(Catalog, what_is_not_active_is_not_there_nor_what_is_below_it) {
  SmallCatalog small;
  small.add(1);
  small.add(2);
  small.rows.campaigns[0].status = Status::kPaused;
  const Catalog catalog = small.compile();
  ASSERT_EQ(catalog.items().size(), 1U);
  EXPECT_EQ(catalog.left_out().not_active, (std::array<size_t, kRowKinds>{0, 1, 1, 1}));
  EXPECT_EQ(catalog.left_out().broken, (std::array<size_t, kRowKinds>{}));
  EXPECT_FALSE(catalog.find_item(1));
  EXPECT_EQ(catalog.find_item(2), 0U);
  EXPECT_EQ(catalog.find_campaign(2), 0U);
  EXPECT_FALSE(catalog.find_campaign(1));
}

TEST(Catalog, line_items_are_in_order_of_what_their_campaign_bids_at_most) {
  SmallCatalog small;
  for (int64_t id = 1; id <= 4; ++id) {
    small.add(id);
  }
  auto& campaigns = small.rows.campaigns;
  campaigns[0].most.micros = 1'000'000;
  campaigns[1].most.micros = 300'000;  // 3 units of another currency.
  campaigns[1].currency.code = {'E', 'U', 'R'};
  campaigns[2].most.micros = 5'000'000;
  campaigns[2].goal = Goal::kCpm;  // Its goal is worth less than it may bid.
  campaigns[2].goal_value_micros = 2'000'000;
  campaigns[2].margin_ratio = 0.5;
  campaigns[3].most.micros = 1'000'000;
  const Worth worths[] = {{.currency = campaigns[1].currency, .units_ratio = 10}};
  const Catalog catalog(small.rows, {}, 1, worths);
  Ids ids;
  for (const Item& item : catalog.items()) {
    ids.push_back(item.id);
  }
  EXPECT_EQ(ids, (Ids{2, 1, 3, 4}));
}

TEST(Catalog, empty_rows_make_an_empty_catalog) {
  const Catalog catalog(CatalogRows{}, {}, 1);
  const Said said(banner_request());
  EXPECT_EQ(served(catalog, said.facts), Ids{});
}

}  // namespace
}  // namespace spillway::bidder
