#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/money.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "exchange/clearing/rates.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "openrtb/codes.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

constexpr base::Currency kEur{{'E', 'U', 'R'}};

/// A euro is a dollar and a quarter.
Rates euro_rates(int64_t as_of_ms) {
  Rates rates(kEur, as_of_ms, std::chrono::hours(1));
  EXPECT_TRUE(rates.add(base::Currency{}, 1'250'000'000));
  return rates;
}

TEST(Currencies, AFloorIsComparedInTheBidsCurrencyToTheMicro) {
  Scene scene;
  const Rates rates = euro_rates(0);
  scene.rates = &rates;
  scene.imp().floor_currency = kEur;
  scene.imp().floor.micros = 1'000'001;
  EXPECT_EQ(scene.loss(R"("price":1.250001)"), Loss::kBelowFloor);
  EXPECT_EQ(scene.loss(R"("price":1.250002)"), Loss::kWon);
  EXPECT_EQ(scene.bid(R"("price":2)").floor.micros, 1'250'002);
  scene.imp().floor_currency = {{'J', 'P', 'Y'}};
  EXPECT_EQ(scene.loss(R"("price":2)"), Loss::kNoFxRate);
}

TEST(Currencies, ABidInACurrencyThatTheRequestLacksNeedsTheSwitchAndARate) {
  Scene scene;
  scene.request.currencies_given = true;
  const Rates rates = euro_rates(0);
  scene.rates = &rates;
  const char* euros = R"("cur":"EUR",)";
  EXPECT_EQ(scene.loss("", euros), Loss::kNoFxRate);
  scene.dsp.checks.currency_from_request_only = false;
  EXPECT_EQ(scene.loss("", euros), Loss::kWon);
  EXPECT_EQ(scene.loss("", R"("cur":"JPY",)"), Loss::kNoFxRate);
  scene.rates = nullptr;
  EXPECT_EQ(scene.loss("", euros), Loss::kNoFxRate) << "fails closed";
}

TEST(Currencies, TheAdjustmentIsExactAndNotTakenOnDeals) {
  Scene scene;
  scene.dsp.adjustment_ppm = 900'000;
  scene.margin_ppm = 100'000;
  scene.imp().floor.micros = 810'000;
  EXPECT_EQ(scene.loss(R"("price":0.999999)"), Loss::kBelowFloor);
  const Bid& bid = scene.bid(R"("price":1)");
  EXPECT_EQ(bid.loss, Loss::kWon);
  EXPECT_EQ(bid.net().micros, 810'000);
  EXPECT_EQ(bid.gross({810'000}).micros, 1'000'000);
  scene.imp().deals = {{.id = "d"}};
  EXPECT_EQ(scene.bid(R"("price":0.81,"dealid":"d")").net().micros, 810'000);
}

/// Alpha bids a euro, beta 1.2 dollars; the caller wants dollars first.
struct TwoCurrencies : FakeMarket {
  TwoCurrencies() {
    add("alpha", answers(response_json(bid_json("a", "1", "1", kMore), R"(,"cur":"EUR")")));
    add("beta", answers(response_json(bid_json("b", "1", "1.2"))));
    snapshot.rates = euro_rates(start.wall_ms);
  }

  const std::string& sell(const char* cur = R"(,"cur":["USD","EUR"])") {
    return run(request_json(kBannerImp, cur)).body;
  }

  static constexpr std::string_view kMore = R"(,"w":300,"h":250,"ext":{"p":"x"})";
};

bool has(const std::string& text, std::string_view part) { return text.contains(part); }

TEST(Currencies, BidsAreRankedAndPaidInTheReplysCurrency) {
  TwoCurrencies market;
  const std::string& body = market.sell();
  EXPECT_TRUE(has(body, R"("seat":"alpha")")) << body;
  EXPECT_TRUE(has(body, R"("price":1.25})")) << body;
  EXPECT_TRUE(has(body, R"("cur":"USD")")) << body;
  EXPECT_EQ(market.auction.cleared()[0].gross.micros, 1'000'000);
  EXPECT_EQ(market.non_bid(1).loss, Loss::kOutbid);
}

TEST(Currencies, StaleRatesAreNone) {
  TwoCurrencies market;
  market.start.wall_ms += 3'600'001;
  const std::string& body = market.sell();
  EXPECT_TRUE(has(body, R"("seat":"beta")")) << body;
  EXPECT_EQ(market.non_bid(0).loss, Loss::kNoFxRate);
}

TEST(Currencies, AReplyIsInACurrencyTheCallerNamedWhenThereIsARate) {
  TwoCurrencies market;
  market.behaviour[1] = answers_no_bid();
  market.snapshot.dsps[0].checks.currency_from_request_only = false;
  EXPECT_TRUE(has(market.sell(R"(,"cur":["USD"])"), R"("cur":"USD")")) << market.reply.body;
  EXPECT_TRUE(has(market.reply.body, R"("price":1.25})")) << market.reply.body;
}

TEST(Currencies, TheRecordGivesTheSameReplyByTheRecordedTime) {
  for (const int64_t later_ms : {int64_t{0}, int64_t{3'600'001}}) {
    TwoCurrencies market;
    market.start.wall_ms += later_ms;
    market.sell();
    Auction again;
    EXPECT_EQ(replay(market.snapshot, market.record, again).body, market.reply.body);
  }
}

}  // namespace
}  // namespace spillway::exchange::clearing
