#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

std::string answer_of(std::string_view bids) {
  return R"({"id":"req-1","bidid":"x\u0031","seatbid":[{"seat":"s","bid":[)" + std::string(bids) +
         "]}]}";
}

std::string good(std::string_view id, std::string_view price) {
  return R"({"id":")" + std::string(id) + R"(","impid":"1","adm":"<b>","price":)" +
         std::string(price) + "}";
}

TEST(AnswerTest, EverySpellingOfNoIsANoBid) {
  Scene scene;
  for (const std::string_view body :
       {"", " \r\n\t", "{}", R"({"id":"req-1"})", R"({"seatbid":null})", R"({"seatbid":[]})",
        R"({"seatbid":[null]})", R"({"seatbid":[{}]})", R"({"seatbid":[{"bid":null}]})",
        R"({"seatbid":[{"bid":[]}]})", R"({"seatbid":[{"bid":[null]}]})",
        R"({"seatbid":[{"bid":[1,"x"]}]})"}) {
    EXPECT_EQ(scene.read(body), AnswerKind::kNoBid) << body;
    EXPECT_TRUE(scene.answer.bids.empty());
  }
}

TEST(AnswerTest, WhatIsNoBidResponseIsMalformedAndHasNoBids) {
  Scene scene;
  for (const std::string& body :
       {std::string("null"), std::string("[]"), std::string("1"), std::string("\"x\""),
        std::string("<html>"), std::string("{\"seatbid\":"), std::string(R"({"seatbid":{}})"),
        std::string(R"({"seatbid":["x"]})"), std::string(R"({"seatbid":[{"bid":{}}]})"),
        std::string(R"({"seatbid":[],"x":NaN})"), std::string("{} {}"),
        answer_of(good("b1", "1")).substr(1),
        R"({"seatbid":[{"bid":[)" + good("b1", "1") + R"(]},{"bid":"x"}]})"}) {
    EXPECT_EQ(scene.read(body), AnswerKind::kMalformed) << body;
    EXPECT_TRUE(scene.answer.bids.empty()) << body;
  }
}

TEST(AnswerTest, ABidIsReadWithAllThatClearingNeeds) {
  Scene scene;
  scene.imp().deals = {{.id = "d1"}};
  scene.read(R"({"bidid":"x\u0031","cur":"usd","seatbid":[{"seat":"s\u0065at","bid":[null,
      {"id":"b\u0031","impid":"\u0031","price":1.2345678,"adm":"<b>","w":300.0,"h":250,"mtype":1,
       "dealid":"d1","ext":"wrong type"}]}]})");
  ASSERT_EQ(scene.answer.bids.size(), 1U);
  const Bid& bid = scene.answer.bids.front();
  EXPECT_TRUE(bid.valid());
  EXPECT_EQ(scene.answer.bidid, "x1");
  EXPECT_EQ(bid.dsp, 3U);
  EXPECT_EQ(bid.answer, 7U);
  EXPECT_EQ(bid.id, "b1");
  EXPECT_EQ(bid.seat, "seat");
  EXPECT_EQ(bid.imp, 0U);
  EXPECT_EQ(bid.price.micros, 1'234'567);
  EXPECT_EQ(bid.size, (openrtb::Size{.w = 300, .h = 250}));
  EXPECT_EQ(bid.deal_id, "d1");
  EXPECT_TRUE(scene.document.is(bid.node, openrtb::Kind::kObject));
}

TEST(AnswerTest, NbrIsKeptAndNonsenseInItIsNot) {
  Scene scene;
  scene.read(R"({"nbr":2})");
  EXPECT_EQ(scene.answer.nbr, 2);
  scene.read(R"({"nbr":-4})");
  EXPECT_EQ(scene.answer.nbr, -1);
  scene.read(R"({"nbr":"2"})");
  EXPECT_EQ(scene.answer.nbr, -1);
}

TEST(AnswerTest, AnAnswerWithoutSeatTakesTheConfiguredSeatAndElseTheName) {
  Scene scene;
  const std::string body = R"({"seatbid":[{"bid":[)" + good("b1", "1") + "]}]}";
  scene.read(body);
  EXPECT_EQ(scene.answer.bids.front().seat, "alpha");
  scene.dsp.seat = "seat-7";
  scene.read(body);
  EXPECT_EQ(scene.answer.bids.front().seat, "seat-7");
}

TEST(AnswerTest, TheSecondBidWithAnIdIsADuplicateUnlessAllowed) {
  Scene scene;
  scene.dsp.checks.bids_per_seat_and_imp = 10;
  const std::string body =
      answer_of(good("b1", "1") + "," + good("b2", "2") + "," + good("b1", "3"));
  scene.read(body);
  EXPECT_TRUE(scene.answer.bids[0].valid());
  EXPECT_TRUE(scene.answer.bids[1].valid());
  EXPECT_TRUE(scene.answer.bids[2].duplicate);
  EXPECT_FALSE(scene.answer.bids[2].valid());
  scene.dsp.checks.allow_duplicate_bid_id = true;
  scene.read(body);
  EXPECT_TRUE(scene.answer.bids[2].valid());
}

TEST(AnswerTest, BidsBeyondTheCapAreDroppedAndCounted) {
  Scene scene;
  scene.dsp.checks.bids_per_answer = 2;
  scene.read(answer_of(good("b1", "1") + "," + good("b2", "2") + "," + good("b3", "3")));
  EXPECT_EQ(scene.answer.bids.size(), 2U);
  EXPECT_EQ(scene.answer.bids_over_cap, 1U);
}

TEST(AnswerTest, OnlyTheBestBidsOfASeatOnAnImpAreKept) {
  Scene scene;
  scene.read(answer_of(good("b1", "1") + "," + good("b2", "3") + "," + good("b3", "2") + "," +
                       good("b4", "2")));
  const auto& bids = scene.answer.bids;
  EXPECT_EQ(bids[0].loss, Loss::kOutbid);
  EXPECT_EQ(bids[1].loss, Loss::kWon);
  EXPECT_EQ(bids[2].loss, Loss::kWon);
  EXPECT_EQ(bids[3].loss, Loss::kOutbid) << "equal prices go by id";
}

TEST(AnswerTest, SeatsAndImpsAreKeptApartWhenTheBestAreKept) {
  Scene scene;
  scene.dsp.checks.bids_per_seat_and_imp = 1;
  scene.request.imps.push_back(scene.imp());
  scene.request.imps.back().id = "2";
  scene.read(R"({"seatbid":[{"seat":"s","bid":[)" + good("b1", "1") +
             R"(,{"id":"b2","impid":"2","adm":"<b>","price":1}]},{"seat":"t","bid":[)" +
             good("b3", "1") + "]}]}");
  for (const Bid& bid : scene.answer.bids) {
    EXPECT_TRUE(bid.valid()) << bid.id;
  }
}

TEST(AnswerTest, AnAnswerObjectForgetsTheAnswerBefore) {
  Scene scene;
  scene.read(answer_of(good("b1", "1")));
  scene.read(answer_of(good("b1", "1")));
  ASSERT_EQ(scene.answer.bids.size(), 1U);
  EXPECT_TRUE(scene.answer.bids.front().valid());
  EXPECT_EQ(scene.read("[]"), AnswerKind::kMalformed);
  EXPECT_TRUE(scene.answer.bidid.empty());
}

}  // namespace
}  // namespace spillway::exchange::clearing
