#include "bidder/response.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/markup.h"
#include "bidder/model.h"
#include "bidder/notice.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::bidder {
namespace {

using openrtb::Key;

Advertiser advertiser() {
  return {.id = 1, .name = "a", .domain = "shop.example", .categories = {"IAB18", "IAB18-1"}};
}

Creative banner() {
  Creative creative;
  creative.id = 70;
  creative.w = 300;
  creative.h = 250;
  creative.markup = "<a href=\"${CLICK_URL}\" id='${BID_ID}'>\n${AUCTION_PRICE} ${NOT_OURS}</a>";
  creative.click_url = "https://shop.example/?a=1&q=\"x y\"";
  creative.attributes = {1, 3};
  return creative;
}

Creative video() {
  Creative creative;
  creative.id = 71;
  creative.media = Media::kVideo;
  creative.w = 640;
  creative.h = 480;
  creative.duration_s = 90;
  creative.mime = "video/mp4";
  creative.protocols = {3};
  creative.markup = "https://cdn.example/a.mp4";
  creative.click_url = "https://shop.example/";
  return creative;
}

std::string written(const Creative& creative, std::string_view deal = "",
                    const Advertiser& owner = advertiser(), int64_t cattax = 1) {
  const NoticeSigner signer("https://b.example", {{"x", {{"k", std::string(32, 's')}}}});
  const BidToWrite bid{.imp = "imp \"1\"",
                       .deal = deal,
                       .advertiser = &owner,
                       .creative = &creative,
                       .line_item = 70,
                       .price = {1'250'000},
                       .w = creative.w,
                       .h = creative.h,
                       .claims = {.bid = 0xabc, .campaign = 7, .creative = creative.id}};
  std::string out;
  WriterMemory memory;
  append_answer(out,
                {.request = "r\n1",
                 .currency = {{'E', 'U', 'R'}},
                 .seat = "seat",
                 .exchange = 0,
                 .cattax = cattax,
                 .expires_in_s = 600,
                 .signer = &signer,
                 .explain = {}},
                {&bid, 1}, memory);
  return out;
}

TEST(Answer, IsABidResponseWithEveryField) {
  const openrtb::Padded text(written(banner(), "deal-1"));
  openrtb::Document document;
  ASSERT_TRUE(document.walk(text.view())) << text.view();
  const auto root = document.root();
  EXPECT_EQ(document.string(document.find(root, Key::id)), "r\n1");
  EXPECT_EQ(document.string(document.find(root, Key::cur)), "EUR");
  const auto seatbid = document.first_child(document.find(root, Key::seatbid));
  EXPECT_EQ(document.string(document.find(seatbid, Key::seat)), "seat");
  const auto bid = document.first_child(document.find(seatbid, Key::bid));
  const auto text_of = [&](std::string_view name) {
    return document.string(document.find(bid, name));
  };
  EXPECT_EQ(text_of("id"), "0000000000000abc");
  EXPECT_EQ(text_of("impid"), "imp \"1\"");
  EXPECT_EQ(document.raw(document.find(bid, Key::price)), "1.25");
  EXPECT_EQ(document.raw(document.find(bid, Key::adomain)), R"(["shop.example"])");
  EXPECT_EQ(document.raw(document.find(bid, Key::cat)), R"(["IAB18","IAB18-1"])");
  EXPECT_EQ(document.raw(document.find(bid, Key::attr)), "[1,3]");
  EXPECT_EQ(text_of("cid"), "7");
  EXPECT_EQ(text_of("crid"), "70");
  EXPECT_EQ(text_of("dealid"), "deal-1");
  EXPECT_EQ(document.integer(document.find(bid, Key::mtype)), 1);
  EXPECT_EQ(document.integer(document.find(bid, Key::w)), 300);
  EXPECT_EQ(document.integer(document.find(bid, Key::exp)), 600);
  for (const auto* name : {"nurl", "burl", "lurl"}) {
    EXPECT_NE(text_of(name).find("${AUCTION_PRICE}"), std::string::npos) << name;
  }
}

TEST(Answer, SaysCategoriesInTheTaxonomyOfTheRequestWhereItCan) {
  Advertiser owner = advertiser();
  owner.categories = {"IAB18", "7:483", "7:5", "2:9"};
  const auto said = [&](int64_t cattax) {
    const std::string text = written(banner(), "", owner, cattax);
    const size_t begin = text.find(R"("cat":)");
    return begin == std::string::npos ? "" : text.substr(begin, text.find(R"(,"cid")") - begin);
  };
  EXPECT_EQ(said(1), R"("cat":["IAB18"])");
  EXPECT_EQ(said(7), R"("cat":["483","5"],"cattax":7)");
  EXPECT_EQ(said(2), R"("cat":["9"],"cattax":2)");
  EXPECT_EQ(said(5), R"("cat":["IAB18"])") << "in that which goes without saying";
  owner.categories = {"7:483"};
  EXPECT_EQ(said(1), "");
}

TEST(Markup, FillsInOurMacrosAndLeavesTheExchanges) {
  std::string out;
  append_markup(out, banner(), {.campaign = 7, .line_item = 70, .bid_id = "b1"});
  EXPECT_EQ(out,
            "<a href=\"https://shop.example/?a=1&q=%22x%20y%22\" id='b1'>\n${AUCTION_PRICE} "
            "${NOT_OURS}</a>");
}

TEST(Markup, IsExpandedOnceAndSurvivesHalfAMacro) {
  Creative creative = banner();
  creative.click_url = "https://e.example/${CAMPAIGN_ID}";
  creative.markup = "${CLICK_URL_ENC}${CLICK_URL}${CAMPAIGN_ID}${CREATIVE_ID}${ ${X";
  std::string out;
  append_markup(out, creative, {.campaign = 7});
  EXPECT_EQ(out,
            "https%3A%2F%2Fe.example%2F%24%7BCAMPAIGN_ID%7D"
            "https://e.example/${CAMPAIGN_ID}770${ ${X");
}

TEST(Markup, AMediaFileBecomesVast) {
  std::string out;
  append_markup(out, video(), {.campaign = 7});
  EXPECT_NE(out.find(R"(<VAST version="3.0">)"), std::string::npos);
  EXPECT_NE(out.find("<Duration>00:01:30</Duration>"), std::string::npos);
  EXPECT_NE(out.find(R"(type="video/mp4" width="640" height="480")"), std::string::npos);
  EXPECT_NE(out.find("<![CDATA[https://cdn.example/a.mp4]]>"), std::string::npos);
  Creative own = video();
  own.markup = "<VAST version=\"4.0\"></VAST>";
  out.clear();
  append_markup(out, own, {});
  EXPECT_EQ(out, own.markup);
}

TEST(Answer, ANoBidSaysItsCode) {
  std::string out;
  append_no_bid(out, "r", 15, R"({"reason":"deadline"})");
  EXPECT_EQ(out, R"({"id":"r","nbr":15,"ext":{"explain":{"reason":"deadline"}}})");
}

}  // namespace
}  // namespace spillway::bidder
