#include "exchange/house.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/clearing/rates.h"
#include "exchange/fake_market.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(House, AnOpenCircuitServesAHouseAdAtTheFloorUnderItsOwnSeat) {
  FakeMarket market;
  market.add("alpha", is_refused(520));
  market.add_house();
  market.run(request_json(R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":0.75})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kHouse);
  EXPECT_EQ(market.reply.status, 200);
  EXPECT_TRUE(market.seen.empty());
  EXPECT_TRUE(has(
      market.reply.body,
      R"({"id":"r1","seatbid":[{"bid":[{"id":"house-0","impid":"1","crid":"house-0","adm":"<i>house</i>",)"
      R"("adomain":["house.example"],"w":300,"h":250,"mtype":1,"price":0.75,"ext":{"house":1}}],"seat":"house"}],)"))
      << market.reply.body;
}

TEST(House, AnImpWithoutFloorCostsNothing) {
  FakeMarket market;
  market.add("alpha", is_refused(520));
  market.add_house();
  market.run(request_json());
  EXPECT_TRUE(has(market.reply.body, R"("price":0,)"));
}

TEST(House, AFloorInAnotherCurrencyIsConvertedOrTheImpStaysEmpty) {
  FakeMarket market;
  market.add("alpha", is_refused(520));
  market.add_house();
  const std::string request =
      request_json(R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":1,"bidfloorcur":"EUR"})",
                   R"(,"cur":["USD"])");
  market.run(request);
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
  market.snapshot.rates =
      clearing::Rates({{'E', 'U', 'R'}}, market.start.wall_ms, std::chrono::hours(1));
  ASSERT_TRUE(market.snapshot.rates.add({}, 1'083'333'333));
  market.run(request);
  EXPECT_TRUE(has(market.reply.body, R"("price":1.083334,)")) << market.reply.body;
  EXPECT_TRUE(has(market.reply.body, R"("cur":"USD")")) << market.reply.body;
}

TEST(House, DegradedIsAPartnerThatCouldNotAndNoBidOneThatDidNotWant) {
  struct Row {
    FakeAnswer answer;
    bool is_degraded;
  };

  const Row rows[] = {
      {is_refused(520), true},
      {is_refused(521), true},
      {is_refused(522), false},
      {is_refused(523), true},
      {is_refused(524), false},
      {stays_silent(), true},
      {fails(base::CallError::kTimeout, base::CallPhase::kFirstByte), true},
      {fails(base::CallError::kRefused), true},
      {fails(base::CallError::kReset), true},
      {answers_status(500), true},
      {answers_status(503), true},
      {answers_status(404), false},
      {answers_status(429), false},
      {answers_no_bid(), false},
      {answers("{}"), false},
      {answers("<html>"), false},
      {bids("0.1"), false},
  };
  for (const Row& row : rows) {
    FakeMarket market;
    market.add("alpha", row.answer);
    market.add("beta", answers_no_bid());
    market.add_house();
    const auto request = request_json(R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":0.5})");
    market.run(request);
    EXPECT_EQ(market.reply.kind, row.is_degraded ? ReplyKind::kHouse : ReplyKind::kNoBid)
        << row.answer.refusal << ' ' << row.answer.status << ' ' << row.answer.body;
    EXPECT_EQ(market.reply.nbr,
              row.is_degraded ? openrtb::NoBid::kTechnical : openrtb::NoBid::kUnknown);
    market.snapshot.accounts[0].on_no_bid = Fallback::kHouse;
    market.snapshot.accounts[0].on_degraded = Fallback::kPass;
    market.run(request);
    EXPECT_EQ(market.reply.kind, row.is_degraded ? ReplyKind::kNoBid : ReplyKind::kHouse);
  }
}

TEST(House, AValidBidIsNeverReplaced) {
  FakeMarket market;
  market.add("alpha", is_refused(520));
  market.add("beta", bids("1"));
  market.add_house();
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kBid);
  EXPECT_FALSE(has(market.reply.body, "house"));
}

TEST(House, ImpsAreFilledOneByOneInOrderOfSeat) {
  FakeMarket market;
  market.add("alpha", stays_silent());
  market.add("zeta", bids("1", "2"));
  market.add_house();
  market.run(
      request_json(R"({"id":"1","banner":{"w":300,"h":250}},{"id":"2","banner":{"w":300,"h":250}},)"
                   R"({"id":"3","banner":{"w":728,"h":90}})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kBid);
  const auto house = market.reply.body.find(R"("seat":"house")");
  const auto zeta = market.reply.body.find(R"("seat":"zeta")");
  ASSERT_NE(house, std::string_view::npos);
  EXPECT_LT(house, zeta);
  EXPECT_FALSE(has(market.reply.body, R"("impid":"3")"));
}

TEST(House, OnlyADspEligibleForTheImpMakesItDegraded) {
  FakeMarket market;
  market.add("alpha", stays_silent()).endpoints[0].media =
      static_cast<uint8_t>(openrtb::MediaType::kVideo);
  market.add_house();
  market.run(request_json(
      R"({"id":"1","banner":{"w":300,"h":250}},{"id":"2","video":{"mimes":["video/mp4"]}})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
}

/// Rows of (imp, request's further members) against one ad.
struct MatchRow {
  std::string_view imp;
  std::string_view more;
  bool fits;
};

TEST(House, AnAdMustFitTypeAndSizeAndObeyTheBlocks) {
  const MatchRow rows[] = {
      {R"({"id":"1","banner":{"w":300,"h":250}})", "", true},
      {R"({"id":"1","banner":{"w":300,"h":251}})", "", false},
      {R"({"id":"1","banner":{"format":[{"w":1,"h":1},{"w":300,"h":250}]}})", "", true},
      {R"({"id":"1","banner":{"format":[{"wratio":6,"hratio":5,"wmin":300}]}})", "", true},
      {R"({"id":"1","banner":{"format":[{"wratio":6,"hratio":5,"wmin":301}]}})", "", false},
      {R"({"id":"1","banner":{},"instl":1})", "", true},
      {R"({"id":"1","video":{"mimes":["video/mp4"]}})", "", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"badv":["house.example"])", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"badv":["WWW.House.Example"])", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"badv":["example"])", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"badv":["use.example"])", true},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"bcat":["IAB1"])", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"bcat":["IAB1-2"])", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"bcat":["IAB1-3","IAB10"])", true},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"bcat":["IAB1-2"],"cattax":7)", true},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"acat":["IAB1"])", true},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"acat":["IAB2"])", false},
      {R"({"id":"1","banner":{"w":300,"h":250}})", R"(,"acat":["IAB1-2"],"cattax":7)", false},
      {R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":1,"bidfloorcur":"EUR"})", "", true},
      {R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":1,"bidfloorcur":"EUR"})",
       R"(,"cur":["USD","EUR"])", true},
      {R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":1,"bidfloorcur":"EUR"})",
       R"(,"cur":["USD"])", false},
  };
  for (const MatchRow& row : rows) {
    FakeMarket market;
    market.add("alpha", is_refused(520));
    market.add_house().cat = {"IAB1-2"};
    market.run(request_json(row.imp, row.more));
    EXPECT_EQ(market.reply.kind, row.fits ? ReplyKind::kHouse : ReplyKind::kNoBid)
        << row.imp << row.more;
  }
}

TEST(House, ASecureImpTakesNoInsecureAd) {
  FakeMarket market;
  market.add("alpha", is_refused(520));
  market.add_house().adm = "<img src=http://plain.example/a.png>";
  market.run(request_json(R"({"id":"1","banner":{"w":300,"h":250},"secure":0})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kHouse);
  market.run(request_json(R"({"id":"1","banner":{"w":300,"h":250},"secure":1})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
}

TEST(House, SeveralFittingAdsTakeTurns) {
  FakeMarket market;
  market.add("alpha", is_refused(520));
  market.add_house();
  market.add_house().adm = "<i>second</i>";
  int second = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    market.start.seed = seed;
    market.run(request_json());
    second += has(market.reply.body, "second") ? 1 : 0;
  }
  EXPECT_NEAR(second, 200, 50);
}

}  // namespace
}  // namespace spillway::exchange
