#include "bidder/retrieval.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/naive_targeting.h"
#include "bidder/retrieval_plan.h"
#include "bidder/small_catalog_test.h"
#include "bidder/value_table.h"

namespace spillway::bidder {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr std::string_view kUser = R"(,"user":{"id":"u","data":[{"segment":[{"id":"7"}]}]})";

TEST(Retrieval, line_items_without_lists_match_every_user_and_place) {
  SmallCatalog small;
  small.add(1);
  EXPECT_EQ(served(small, banner_request()), Ids{1});
  EXPECT_EQ(served(small, banner_request(kUser)), Ids{1});
  EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":"USA","metro":"501"}})")),
            Ids{1});
}

TEST(Retrieval, unknown_users_never_match_a_line_item_that_wants_segments) {
  SmallCatalog small;
  small.add(1).of(Dimension::kSegment).include = {"7"};
  small.add(2).of(Dimension::kSegment).exclude = {"8"};
  small.add(3);
  EXPECT_EQ(served(small, banner_request()), Ids{3});
  EXPECT_EQ(served(small, banner_request(kUser)), (Ids{1, 2, 3}));
}

TEST(Retrieval, users_without_segments_are_no_unknown_users) {
  SmallCatalog small;
  small.add(1).of(Dimension::kSegment).include = {"7"};
  small.add(2).of(Dimension::kSegment).exclude = {"8"};
  small.add(3);
  Said said(banner_request());
  said.facts.segment_state = SegmentState::kNone;
  EXPECT_EQ(served(small.compile(), said.facts), (Ids{2, 3}));
  said.facts.segment_state = SegmentState::kUnknownUser;
  EXPECT_EQ(served(small.compile(), said.facts), Ids{3});
}

TEST(Retrieval, stores_that_do_not_answer_narrow_what_matches_and_never_widen_it) {
  SmallCatalog small;
  small.add(1).of(Dimension::kSegment).include = {"7"};
  small.add(2).of(Dimension::kSegment).exclude = {"8"};
  auto& both = small.add(3).of(Dimension::kSegment);
  both.include = {"7"};
  both.exclude = {"8"};
  small.add(4);
  const Catalog catalog = small.compile();
  Said said(banner_request(kUser));
  said.facts.segment_state = SegmentState::kKnown;
  EXPECT_EQ(served(catalog, said.facts), (Ids{1, 2, 3, 4}));
  said.facts.segment_state = SegmentState::kCouldNotAsk;
  EXPECT_EQ(served(catalog, said.facts), (Ids{1, 4}));  // The request itself says 7.
  said.facts.clear_segments();
  EXPECT_EQ(served(catalog, said.facts), Ids{4});
}

TEST(Retrieval, line_items_without_an_hour_serve_nobody) {
  SmallCatalog small;
  small.add(1).hours.emplace();
  EXPECT_EQ(served(small, banner_request()), Ids{});
  small.add(2);
  EXPECT_EQ(served(small, banner_request()), Ids{2});
}

TEST(Retrieval, hours_are_those_of_the_advertisers_clock) {
  SmallCatalog small;
  small.zones = {{.name = "Tests/West",
                  .changes = {{.from_unix_s = 0, .offset_s = -5 * 3600},
                              {.from_unix_s = kWednesdayNoonS + 600, .offset_s = -4 * 3600}}}};
  small.rows.advertisers[0].time_zone = "Tests/West";
  small.add(1).hours.emplace().set(2 * 24 + 7);
  small.add(2).hours.emplace().set(2 * 24 + 8);
  EXPECT_EQ(served(small, banner_request(), kWednesdayNoonS), Ids{1});
  EXPECT_EQ(served(small, banner_request(), kWednesdayNoonS + 599), Ids{1});
  EXPECT_EQ(served(small, banner_request(), kWednesdayNoonS + 600), Ids{2});  // Clocks go forward.
  EXPECT_EQ(served(small, banner_request(), kWednesdayNoonS + 3600), Ids{});
}

TEST(Retrieval, one_worker_sees_hours_and_flights_begin_and_end_to_the_second) {
  SmallCatalog small;
  small.add(1);
  small.rows.line_items[0].start_s = kWednesdayNoonS + 10;
  small.rows.campaigns[0].end_s = kWednesdayNoonS + 20;
  small.add(2).hours.emplace().set(2 * 24 + 12);
  const Catalog catalog = small.compile();
  const Said said(banner_request());
  Retrieval retrieval;
  const auto count_at = [&](int64_t after_s) {
    retrieval.begin(catalog, said.facts, kWednesdayNoonS + after_s);
    retrieval.begin_imp(0);
    std::vector<Candidate> candidates(9);
    return retrieval.next(candidates);
  };
  EXPECT_EQ(count_at(0), 1U);
  EXPECT_EQ(count_at(9), 1U);
  EXPECT_EQ(count_at(10), 2U);
  EXPECT_EQ(count_at(19), 2U);
  EXPECT_EQ(count_at(20), 1U);
  EXPECT_EQ(count_at(3599), 1U);
  EXPECT_EQ(count_at(3600), 0U);
  EXPECT_EQ(count_at(15), 2U);  // A clock that is set back.
  EXPECT_EQ(count_at(-1), 0U);
}

TEST(Retrieval, countries_of_two_and_of_three_letters_are_the_same) {
  SmallCatalog small;
  small.add(1).of(Dimension::kCountry).include = {"US"};
  small.add(2).of(Dimension::kCountry).include = {"deu"};
  for (const std::string country : {"USA", "US", "usa"}) {
    EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":")" + country + "\"}}")),
              Ids{1});
  }
  EXPECT_EQ(served(small, banner_request(R"(,"user":{"geo":{"country":"DE"}})")), Ids{2});
  EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":"XXX"}})")), Ids{});
}

TEST(Retrieval, country_and_metro_must_both_match) {
  SmallCatalog small;
  Targeting& targeting = small.add(1);
  targeting.of(Dimension::kCountry).include = {"US"};
  targeting.of(Dimension::kMetro).include = {"501"};
  EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":"USA","metro":"501"}})")),
            Ids{1});
  EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":"USA","metro":"502"}})")),
            Ids{});
  EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":"DEU","metro":"501"}})")),
            Ids{});
  EXPECT_EQ(served(small, banner_request(R"(,"device":{"geo":{"country":"USA"}})")), Ids{});
}

TEST(Retrieval, segments_of_retired_line_items_are_not_indexed) {
  SmallCatalog small;
  small.add(1).of(Dimension::kSegment).include = {"7"};
  small.add(2).of(Dimension::kSegment).include = {"8"};
  small.rows.line_items[0].status = Status::kArchived;
  const Catalog catalog = small.compile();
  EXPECT_EQ(catalog.index().of(Dimension::kSegment).values.size(), 1U);
  EXPECT_EQ(catalog.index().of(Dimension::kSegment).values.find("7"), kNoValue);
}

TEST(Retrieval, unknown_values_match_nothing_that_restricts_their_dimension) {
  for (size_t d = 0; d < kDimensions; ++d) {
    const auto dimension = static_cast<Dimension>(d);
    if (dimension == Dimension::kMedia || dimension == Dimension::kSize ||
        dimension == Dimension::kDeal) {
      continue;  // Every imp says these.
    }
    const bool number = dimension == Dimension::kDeviceType || dimension == Dimension::kPosition;
    std::string value = number ? "1" : "x.y";
    value = dimension == Dimension::kCountry    ? "US"
            : dimension == Dimension::kLanguage ? "en"
            : dimension == Dimension::kCategory ? "IAB1"
                                                : value;
    SmallCatalog include;
    include.add(1).lists[d].include = {value};
    EXPECT_EQ(served(include, banner_request()), Ids{}) << d;
    SmallCatalog exclude;
    exclude.add(1).lists[d].exclude = {value};
    EXPECT_EQ(check_rows(exclude.rows, {}), std::vector<Problem>{}) << d;
    EXPECT_EQ(served(exclude, banner_request()), Ids{}) << d;
  }
}

TEST(Retrieval, domains_reach_their_subdomains_and_categories_their_children) {
  SmallCatalog small;
  small.add(1).of(Dimension::kDomain).include = {"news.example"};
  small.add(2).of(Dimension::kDomain).exclude = {"sport.news.example"};
  small.add(3).of(Dimension::kCategory).include = {"IAB7"};
  small.add(4).of(Dimension::kCategory).exclude = {"IAB7-39"};
  const auto at = [&](const std::string& domain, const std::string& category) {
    return served(small, banner_request(R"(,"site":{"domain":")" + domain + R"(","cat":[")" +
                                        category + "\"]}"));
  };
  EXPECT_EQ(at("news.example", "IAB7"), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(at("www.Sport.News.example", "IAB7-39"), (Ids{1, 3}));
  EXPECT_EQ(at("oldnews.example", "IAB77"), (Ids{2, 4}));
}

TEST(Retrieval, categories_of_another_taxonomy_are_unknown) {
  SmallCatalog small;
  small.add(1).of(Dimension::kCategory).exclude = {"IAB7"};
  EXPECT_EQ(served(small, banner_request(R"(,"site":{"cat":["IAB1"]})")), Ids{1});
  EXPECT_EQ(served(small, banner_request(R"(,"site":{"cattax":6,"cat":["IAB1"]})")), Ids{});
}

TEST(Retrieval, circles_hold_who_is_near_and_keep_out_whom_they_exclude) {
  SmallCatalog small;
  small.add(1).radii = {{.lat = 52.52, .lon = 13.40, .km = 30}};
  small.add(2).radii = {{.lat = 52.52, .lon = 13.40, .km = 30, .exclude = true}};
  small.add(3).radii = {{.lat = 0, .lon = 179.9, .km = 100}};
  small.add(4).radii = {{.lat = 50, .lon = 10, .km = 2000}};  // Too wide for the grid.
  const auto at = [&](const std::string& lat, const std::string& lon) {
    return served(small,
                  banner_request(R"(,"device":{"geo":{"lat":)" + lat + R"(,"lon":)" + lon + "}}"));
  };
  EXPECT_EQ(at("52.50", "13.50"), (Ids{1, 4}));
  EXPECT_EQ(at("52.50", "14.50"), (Ids{2, 4}));
  EXPECT_EQ(at("0.1", "-179.9"), (Ids{2, 3}));  // Across the date line.
  EXPECT_EQ(served(small, banner_request()), Ids{});
}

TEST(Retrieval, circles_agree_with_distances_all_over_the_globe) {
  base::Rng rng(11);
  SmallCatalog small;
  for (int64_t id = 1; id <= 400; ++id) {
    const double km = id % 4 == 0 ? rng.uniform(500, 9000) : rng.uniform(2, 500);
    small.add(id).radii = {
        {.lat = std::asin(rng.uniform(-1, 1)) / kDegree, .lon = rng.uniform(-180, 180), .km = km}};
  }
  const Catalog catalog = small.compile();
  Said said(banner_request());
  size_t inside = 0;
  for (int i = 0; i < 8000; ++i) {
    // A point near the edge of some circle.
    const auto& circle = small.rows.line_items[rng.below(400)].targeting.radii[0];
    const double angle = circle.km * rng.uniform(0.7, 1.3) / 6371.0088;
    const double bearing = rng.uniform(0, 360) * kDegree;
    const double lat = circle.lat * kDegree;
    const double to_lat = std::asin(std::sin(lat) * std::cos(angle) +
                                    std::cos(lat) * std::sin(angle) * std::cos(bearing));
    const double east = std::atan2(std::sin(bearing) * std::sin(angle) * std::cos(lat),
                                   std::cos(angle) - std::sin(lat) * std::sin(to_lat));
    said.facts.geo.has_point = true;
    said.facts.geo.lat = to_lat / kDegree;
    said.facts.geo.lon = std::remainder(circle.lon + east / kDegree, 360);
    Ids expected;
    for (const LineItem& item : small.rows.line_items) {
      const Radius& radius = item.targeting.radii[0];
      if (naive::distance_km(radius.lat, radius.lon, said.facts.geo.lat, said.facts.geo.lon) <=
          radius.km) {
        expected.push_back(item.id);
      }
    }
    ASSERT_EQ(served(catalog, said.facts), expected)
        << said.facts.geo.lat << ", " << said.facts.geo.lon;
    inside += expected.size();
  }
  EXPECT_GT(inside, 8000U);
}

TEST(Retrieval, best_come_first_and_the_next_best_after_them) {
  SmallCatalog small;
  for (int64_t id = 1; id <= 200; ++id) {
    small.add(id);
  }
  small.rows.campaigns[149].most.micros = 2'000'000;
  small.rows.campaigns[49].most.micros = 2'000'000;
  const Catalog catalog = small.compile();
  const Said said(banner_request());
  Retrieval retrieval;
  retrieval.begin(catalog, said.facts, kWednesdayNoonS);
  retrieval.begin_imp(0);
  Ids ids;
  std::vector<Candidate> three(3);
  for (size_t n = 3; n == 3;) {
    n = retrieval.next(three);
    for (size_t i = 0; i < n; ++i) {
      ids.push_back(catalog.items()[three[i].item].id);
    }
  }
  ASSERT_EQ(ids.size(), 200U);
  EXPECT_EQ(Ids(ids.begin(), ids.begin() + 4), (Ids{50, 150, 1, 2}));
  EXPECT_EQ(retrieval.next(three), 0U);
}

TEST(Retrieval, what_does_not_fit_is_dropped_for_a_reason_and_the_next_best_comes) {
  SmallCatalog small;
  small.add(1);
  small.add(2);
  small.add(3);
  small.rows.creatives[0].attributes = {13};
  small.rows.creatives[1].w = 728;
  small.rows.creatives[1].h = 90;
  const Catalog catalog = small.compile();
  const Said said(R"({"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250,"battr":[13]}}]})");
  Retrieval retrieval;
  retrieval.begin(catalog, said.facts, kWednesdayNoonS);
  retrieval.begin_imp(0);
  std::vector<Candidate> candidates(10);
  ASSERT_EQ(retrieval.next(candidates), 1U);
  EXPECT_EQ(catalog.items()[candidates[0].item].id, 3);
  EXPECT_EQ(retrieval.matched(), 3U);
  EXPECT_EQ(retrieval.dropped()[static_cast<size_t>(Misfit::kAttribute)], 1U);
  EXPECT_EQ(retrieval.dropped()[static_cast<size_t>(Misfit::kOffer)], 1U);
}

TEST(Retrieval, size_lists_hold_for_the_place_that_is_served) {
  SmallCatalog small;
  small.add(1).of(Dimension::kSize).include = {"640x480"};
  const auto with_video = [](std::string_view banner) {
    return R"({"id":"r","imp":[{"id":"1","video":{"w":640,"h":480,"mimes":["video/mp4"]},)"
           R"("banner":)" +
           std::string(banner) + "}]}";
  };
  // The banner alone could be served, and its size is not wanted.
  EXPECT_EQ(served(small, with_video(R"({"w":300,"h":250})")), Ids{});
  small.rows.line_items[0].targeting.of(Dimension::kSize).include = {"300x250"};
  EXPECT_EQ(served(small, with_video(R"({"w":300,"h":250})")), Ids{1});
}

TEST(Retrieval, creatives_that_fit_take_turns_by_the_request) {
  SmallCatalog small;
  small.add(1);
  Creative second = small.rows.creatives[0];
  second.id = 9;
  small.rows.creatives.push_back(second);
  const Catalog catalog = small.compile();
  int firsts = 0;
  for (int i = 0; i < 1000; ++i) {
    const Said said(R"({"id":"r)" + std::to_string(i) +
                    R"(","imp":[{"id":"1","banner":{"w":300,"h":250}}]})");
    Retrieval retrieval;
    retrieval.begin(catalog, said.facts, kWednesdayNoonS);
    retrieval.begin_imp(0);
    std::vector<Candidate> candidates(1);
    ASSERT_EQ(retrieval.next(candidates), 1U);
    firsts += candidates[0].creative == 0 ? 1 : 0;
  }
  EXPECT_GT(firsts, 400);
  EXPECT_LT(firsts, 600);
}

TEST(Retrieval, explanations_count_every_line_item_at_the_first_thing_that_dropped_it) {
  SmallCatalog small;
  for (int64_t id = 1; id <= 6; ++id) {
    small.add(id);
  }
  small.rows.line_items[0].end_s = kWednesdayNoonS;
  small.rows.line_items[1].targeting.of(Dimension::kCountry).include = {"FR"};
  small.rows.line_items[2].targeting.of(Dimension::kDeal).include = {"d1"};
  small.rows.creatives[3].w = 728;
  small.rows.creatives[4].secure = false;
  const Catalog catalog = small.compile();
  const Said said(R"({"id":"r","imp":[{"id":"1","secure":1,"banner":{"w":300,"h":250}}],)"
                  R"("device":{"geo":{"country":"DEU"}}})");
  Retrieval retrieval;
  retrieval.begin(catalog, said.facts, kWednesdayNoonS);
  const Explanation explanation = retrieval.explain(0);
  EXPECT_EQ(explanation.drops,
            (std::vector<Drop>{{"flight", 1}, {"country", 1}, {"deal", 1}, {"offer", 1}}));
  EXPECT_EQ(explanation.misfits[static_cast<size_t>(Misfit::kSecure)], 1U);
  EXPECT_EQ(explanation.candidates, 1U);
}

TEST(Retrieval, one_worker_goes_from_one_catalog_to_the_next) {
  SmallCatalog small;
  small.add(1);
  Catalog catalog = small.compile(1);
  const Said said(banner_request());
  Retrieval retrieval;
  std::vector<Candidate> candidates(2000);
  const auto count = [&] {
    retrieval.begin(catalog, said.facts, kWednesdayNoonS);
    retrieval.begin_imp(0);
    return retrieval.next(candidates);
  };
  EXPECT_EQ(count(), 1U);
  for (int64_t id = 2; id <= 1500; ++id) {
    small.add(id);
  }
  catalog = small.compile(2);  // At the same address.
  EXPECT_EQ(count(), 1500U);
  catalog = Catalog();
  EXPECT_EQ(count(), 0U);
}

}  // namespace
}  // namespace spillway::bidder
