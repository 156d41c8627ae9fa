#include "bidder/facts.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "bidder/model.h"
#include "bidder/small_catalog_test.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::bidder {
namespace {

using Texts = std::vector<std::string_view>;

TEST(RequestFacts, everything_that_a_full_request_says_is_read) {
  const Said said(
      R"({"id":"r1","tmax":120,"at":1,"test":1,"cur":["EUR","usd"],"bcat":["iab25","IAB7-39"],)"
      R"("badv":["WWW.Bad.example"],"wseat":["a"],"bseat":["b"],"wlang":["de-AT","en"],)"
      R"("imp":[{"id":"i1","bidfloor":0.03,"bidfloorcur":"EUR","secure":1,"instl":1,)"
      R"("banner":{"w":300,"h":250,"pos":1,"battr":[13,14],"api":[3],"mimes":["Image/PNG"],)"
      R"("format":[{"w":728,"h":90},{"wratio":16,"hratio":9,"wmin":300}]},)"
      R"("video":{"mimes":["video/mp4"],"minduration":5,"maxduration":30,"rqddurs":[15],)"
      R"("protocols":[2,3],"w":640,"h":480},"pmp":{"private_auction":1,"deals":[{"id":"d1",)"
      R"("bidfloor":1.5,"at":3,"wseat":["a"],"wadomain":["WWW.Shop.example"]},{"id":2}]}}],)"
      R"("device":{"devicetype":4,"os":"iOS","language":"en-US","ip":"192.0.2.1","ua":"A","ifa":"f",)"
      R"("lmt":1,"geo":{"country":"USA","region":"US-CA","metro":501,"zip":"941 05","lat":37.5,)"
      R"("lon":-122}},"user":{"id":"u","buyeruid":"b","data":[{"segment":[{"id":"7"},)"
      R"({"id":"seg:a"}]}]},"site":{"id":"s1","page":"https://www.News.example:8080/a?b",)"
      R"("cat":["IAB1"],"pagecat":["IAB1-2"],"publisher":{"id":"p"},"content":{"cat":["IAB9"]}}})");
  const RequestFacts& facts = said.facts;
  EXPECT_EQ(facts.id, "r1");
  EXPECT_EQ(facts.tmax_ms, 120);
  EXPECT_EQ(facts.at, 1);
  EXPECT_TRUE(facts.test);
  ASSERT_EQ(facts.currencies.size(), 2U);
  EXPECT_EQ(facts.currencies[1].view(), "USD");
  EXPECT_EQ(facts.bcat, (Texts{"IAB25", "IAB7-39"}));
  EXPECT_EQ(facts.badv, Texts{"bad.example"});
  EXPECT_EQ(facts.wseat, Texts{"a"});
  EXPECT_EQ(facts.bseat, Texts{"b"});
  EXPECT_EQ(facts.wlang, (Texts{"de", "en"}));
  EXPECT_EQ(facts.device_type, 4);
  EXPECT_EQ(facts.os, "ios");
  EXPECT_EQ(facts.language, "en");
  EXPECT_EQ(facts.ip, "192.0.2.1");
  EXPECT_TRUE(facts.limited);
  EXPECT_EQ(facts.geo.country, "US");
  EXPECT_EQ(facts.geo.region, "CA");
  EXPECT_EQ(facts.geo.metro, "501");
  EXPECT_EQ(facts.geo.zip, "94105");
  EXPECT_TRUE(facts.geo.has_point);
  EXPECT_EQ(facts.geo.lon, -122);
  EXPECT_EQ(facts.domain, "news.example");
  EXPECT_EQ(facts.site_id, "s1");
  EXPECT_EQ(facts.publisher_id, "p");
  EXPECT_EQ(facts.categories, (Texts{"IAB1", "IAB1-2", "IAB9"}));
  EXPECT_EQ(facts.segment_numbers, std::vector<uint32_t>{7});
  EXPECT_EQ(facts.segment_texts, Texts{"seg:a"});
}

TEST(RequestFacts, everything_that_an_imp_says_is_read) {
  const Said said(
      R"({"id":"r","imp":[{"id":"i1","bidfloor":0.0300001,"bidfloorcur":"EUR","secure":1,)"
      R"("banner":{"w":300,"h":250,"pos":1,"battr":[13],"mimes":["Image/PNG"],)"
      R"("format":[{"w":728,"h":90},{"wratio":16,"hratio":9,"wmin":300}]},)"
      R"("video":{"mimes":["video/mp4"],"minduration":5,"maxduration":30,"rqddurs":[15],)"
      R"("protocols":[2,3],"api":[7],"w":640,"h":480},"pmp":{"private_auction":1,"deals":[{)"
      R"("id":"d1","bidfloor":1.5,"at":3,"wadomain":["WWW.Shop.example"]},{"id":2}]}}]})");
  ASSERT_EQ(said.facts.imps().size(), 1U);
  const ImpFacts& imp = said.facts.imps()[0];
  EXPECT_EQ(imp.floor.micros, 30'001);  // Up: rounding alone passes no floor.
  EXPECT_EQ(imp.floor_currency.view(), "EUR");
  EXPECT_TRUE(imp.secure);
  EXPECT_EQ(imp.sizes, (std::vector<PixelSize>{{300, 250}, {728, 90}}));
  EXPECT_EQ(imp.ratios, (std::vector<RatioSize>{{16, 9, 300}}));
  EXPECT_EQ(imp.of(Media::kBanner).mimes, Texts{"image/png"});
  EXPECT_EQ(imp.of(Media::kBanner).battr, std::vector<int32_t>{13});
  const MediaFacts& video = imp.of(Media::kVideo);
  EXPECT_EQ(video.duration_max_s, 30);
  EXPECT_EQ(video.durations_s, std::vector<int32_t>{15});
  EXPECT_EQ(video.protocols, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(video.apis, std::vector<int32_t>{7});
  EXPECT_FALSE(imp.of(Media::kAudio).offered);
  EXPECT_TRUE(imp.private_auction);
  ASSERT_EQ(imp.offered_deals().size(), 2U);
  EXPECT_EQ(imp.offered_deals()[0].floor.micros, 1'500'000);
  EXPECT_EQ(imp.offered_deals()[0].floor_currency.view(), "USD");  // Does not inherit.
  EXPECT_EQ(imp.offered_deals()[0].at, 3);
  EXPECT_EQ(imp.offered_deals()[0].wadomain, Texts{"shop.example"});
  EXPECT_EQ(imp.offered_deals()[1].id, "2");
  EXPECT_FALSE(imp.offered_deals()[1].floor_given);
}

TEST(RequestFacts, explicit_nulls_are_absence) {
  const Said said(
      R"({"id":"r","tmax":null,"at":null,"cur":null,"bcat":null,"cattax":null,"device":null,)"
      R"("user":{"id":null,"buyeruid":null,"data":null,"geo":null},"site":null,)"
      R"("imp":[{"id":"1","banner":{"w":null,"h":null,"format":null,"battr":null},"video":null,)"
      R"("bidfloor":null,"bidfloorcur":null,"pmp":null,"secure":null}]})");
  const RequestFacts& facts = said.facts;
  EXPECT_EQ(facts.at, 2);
  ASSERT_EQ(facts.currencies.size(), 1U);
  EXPECT_EQ(facts.currencies[0].view(), "USD");
  EXPECT_TRUE(facts.bcat_readable);
  EXPECT_EQ(facts.user_id, "");
  EXPECT_TRUE(facts.geo.empty());
  ASSERT_EQ(facts.imps().size(), 1U);
  EXPECT_TRUE(facts.imps()[0].of(Media::kBanner).offered);
  EXPECT_FALSE(facts.imps()[0].of(Media::kVideo).offered);
  EXPECT_TRUE(facts.imps()[0].floor_known);
}

TEST(RequestFacts, user_ids_may_be_numbers) {
  const Said said(R"({"id":"r","imp":[],"user":{"id":1234567890123,"buyeruid":7}})");
  EXPECT_EQ(said.facts.user_id, "1234567890123");
  EXPECT_EQ(said.facts.buyeruid, "7");
}

TEST(RequestFacts, values_of_wrong_types_are_absent) {
  const Said said(
      R"({"id":[],"tmax":"x","imp":[1,{"id":{},"banner":[],"bidfloor":"2"},{"video":7}],)"
      R"("device":[],"user":{"id":true,"data":[{"segment":{"id":7}},5]},"site":"s","bcat":"IAB1"})");
  EXPECT_EQ(said.facts.id, "");
  EXPECT_EQ(said.facts.imps().size(), 2U);
  EXPECT_FALSE(said.facts.imps()[0].floor_known);  // There is one, and it cannot be read.
  EXPECT_EQ(said.facts.user_id, "");
  EXPECT_EQ(said.facts.bcat, Texts{});
}

TEST(RequestFacts, places_of_device_and_user_are_never_mixed) {
  const Said said(R"({"id":"r","device":{"geo":{"country":"DEU"}},"user":{"geo":{"country":"USA",)"
                  R"("metro":"501"}}})");
  EXPECT_EQ(said.facts.geo.country, "DE");
  EXPECT_EQ(said.facts.geo.metro, "");
}

TEST(RequestFacts, places_found_by_address_fill_what_agrees) {
  Said silent(R"({"id":"r"})");
  silent.facts.add_geo({.country = "USA", .region = "US-CA", .metro = "803", .zip = "90001"});
  EXPECT_EQ(silent.facts.geo.country, "US");
  EXPECT_EQ(silent.facts.geo.region, "CA");
  Said agreeing(R"({"id":"r","device":{"geo":{"country":"USA","metro":"501"}}})");
  agreeing.facts.add_geo({.country = "US", .region = "CA", .metro = "803", .zip = ""});
  EXPECT_EQ(agreeing.facts.geo.metro, "501");
  EXPECT_EQ(agreeing.facts.geo.region, "CA");
  Said other(R"({"id":"r","device":{"geo":{"country":"DEU"}}})");
  other.facts.add_geo({.country = "US", .region = "CA", .metro = "803", .zip = ""});
  EXPECT_EQ(other.facts.geo.region, "");
}

TEST(RequestFacts, blocked_categories_are_read_in_their_own_taxonomy) {
  const auto readable = [](std::string_view members) {
    return Said(R"({"id":"r")" + std::string(members) + "}").facts.bcat_readable;
  };
  EXPECT_TRUE(readable(R"(,"bcat":["7"],"cattax":6)"));
  EXPECT_EQ(Said(R"({"id":"r","bcat":["7"],"cattax":6})").facts.cattax, 6);
  EXPECT_TRUE(readable(R"(,"bcat":["IAB7"],"cattax":1)"));
  EXPECT_TRUE(readable(R"(,"bcat":["iab7"],"cattax":null)"));
  EXPECT_TRUE(readable(R"(,"bcat":["IAB99"])")) << "of ours, whatever it is";
  EXPECT_TRUE(readable(R"(,"bcat":[],"cattax":0)")) << "blocks nothing";
  // Codes of another taxonomy under the number of ours, and numbers that are none.
  EXPECT_FALSE(readable(R"(,"bcat":["IAB7","483"])"));
  EXPECT_FALSE(readable(R"(,"bcat":["IAB7"],"cattax":0)"));
  EXPECT_FALSE(readable(R"(,"bcat":["IAB7"],"cattax":-1)"));
  EXPECT_FALSE(readable(R"(,"bcat":["483",""],"cattax":7)"));
}

TEST(RequestFacts, imps_beyond_the_bound_are_dropped_and_counted) {
  Said said(R"({"id":"r","imp":[{"id":"1"},{"id":"2"},{"id":"3"}]})");
  said.facts.read(said.document, 2);
  EXPECT_EQ(said.facts.imps().size(), 2U);
  EXPECT_EQ(said.facts.imps_dropped, 1U);
}

TEST(RequestFacts, lists_without_end_are_cut_and_cut_deals_match_nothing_that_restricts_them) {
  std::string formats;
  std::string deals;
  for (int i = 1; i <= 200; ++i) {
    const std::string number = std::to_string(i);
    formats.append(R"({"w":)").append(number).append(R"(,"h":1},{"wratio":)").append(number);
    formats += R"(,"hratio":7,"wmin":1},)";
    deals.append(R"({"id":"d)").append(number).append(R"("},)");
  }
  formats.pop_back();
  deals.pop_back();
  const std::string imp = R"({"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250,"format":[)" +
                          formats + R"(]},"pmp":{"deals":[)" + deals + "]}}]}";
  const Said said(imp);
  EXPECT_EQ(said.facts.imps()[0].sizes.size(), ImpFacts::kListMost);
  EXPECT_EQ(said.facts.imps()[0].ratios.size(), ImpFacts::kListMost);
  EXPECT_EQ(said.facts.imps()[0].offered_deals().size(), ImpFacts::kListMost);
  EXPECT_TRUE(said.facts.imps()[0].deals_cut);
  SmallCatalog small;
  small.add(1).of(Dimension::kDeal).exclude = {"d200"};
  small.add(2).of(Dimension::kDeal).include = {"d1"};
  small.add(3);
  EXPECT_EQ(served(small.compile(), said.facts), Ids{3});
}

TEST(RequestFacts, segments_of_a_store_are_read_line_by_line_as_one_by_one) {
  const std::vector<std::string> ids = {
      "7",  "0",  "07", "4294967295",         "4294967296", "999999999", "1000000000",  "a",
      "7a", "-7", "",   "s eg/ment:\xc3\xa9", "00",         "12 ",       "99999999999", "40"};
  for (const std::string_view end : {"", "\n"}) {
    std::string lines;
    RequestFacts one_by_one;
    for (const std::string& id : ids) {
      lines += (lines.empty() ? "" : "\n") + id;
      one_by_one.add_segment(id);
    }
    RequestFacts together;
    together.add_segments(lines.append(end));
    EXPECT_EQ(together.segment_numbers, one_by_one.segment_numbers);
    EXPECT_EQ(together.segment_texts, one_by_one.segment_texts);
  }
}

TEST(RequestFacts, nothing_of_one_request_is_left_in_the_next) {
  Said said(R"({"id":"r","bcat":["IAB1"],"imp":[{"id":"1","secure":1,"banner":{"w":1,"h":1},)"
            R"("pmp":{"deals":[{"id":"d","wseat":["a"]}]}}],"user":{"id":"u","data":[{"segment":)"
            R"([{"id":"s"}]}]},"device":{"os":"x","geo":{"country":"US"}}})");
  said.facts.segment_state = SegmentState::kKnown;
  const openrtb::Padded next(R"({"id":"n","imp":[{"id":"1","video":{}}]})");
  openrtb::Document document;
  ASSERT_TRUE(document.walk(next.view()));
  said.facts.read(document);
  EXPECT_EQ(said.facts.id, "n");
  EXPECT_TRUE(said.facts.bcat.empty());
  EXPECT_TRUE(said.facts.segment_texts.empty());
  EXPECT_EQ(said.facts.segment_state, SegmentState::kUnknownUser);
  EXPECT_EQ(said.facts.os, "");
  EXPECT_TRUE(said.facts.geo.empty());
  const ImpFacts& imp = said.facts.imps()[0];
  EXPECT_FALSE(imp.secure);
  EXPECT_TRUE(imp.sizes.empty());
  EXPECT_FALSE(imp.of(Media::kBanner).offered);
  EXPECT_TRUE(imp.offered_deals().empty());
}

}  // namespace
}  // namespace spillway::bidder
