#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "exchange/fake_market.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

/// The scene's imp asks 1, its deal d1 asks 3.
Scene scene_with_deal() {
  Scene scene;
  scene.imp().floor.micros = 1'000'000;
  scene.imp().deals = {{.id = "d1", .floor = {3'000'000}, .floor_given = true}};
  return scene;
}

openrtb::Deal& deal_of(Scene& scene) { return scene.imp().deals.front(); }

TEST(Deals, ABidBelowTheDealsFloorLosesByIt) {
  Scene scene = scene_with_deal();
  EXPECT_EQ(scene.loss(R"("price":2,"dealid":"d1")"), Loss::kBelowDealFloor);
  EXPECT_EQ(scene.loss(R"("price":2.999999,"dealid":"d1")"), Loss::kBelowDealFloor);
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":2)"), Loss::kWon) << "the open auction has its own floor";
}

TEST(Deals, TheDealsOwnFloorAppliesWhenNamedAndTheImpsElse) {
  Scene scene = scene_with_deal();
  deal_of(scene).floor.micros = 500'000;
  EXPECT_EQ(scene.loss(R"("price":0.5,"dealid":"d1")"), Loss::kWon);
  deal_of(scene).floor.micros = 0;
  EXPECT_EQ(scene.loss(R"("price":0.000001,"dealid":"d1")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":0,"dealid":"d1")"), Loss::kInvalidResponse);
  deal_of(scene).floor_given = false;
  EXPECT_EQ(scene.loss(R"("price":0.5,"dealid":"d1")"), Loss::kBelowFloor);
  EXPECT_EQ(scene.bid(R"("price":1,"dealid":"d1")").floor.micros, 1'000'000);
}

TEST(Deals, ADealsFloorIsInItsOwnCurrency) {
  Scene scene = scene_with_deal();
  scene.imp().floor_currency = {{'E', 'U', 'R'}};
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":3)"), Loss::kNoFxRate);
  deal_of(scene).floor_currency = {{'E', 'U', 'R'}};
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kNoFxRate);
}

TEST(Deals, OnlySeatsThatTheDealNamesBuyInIt) {
  Scene scene = scene_with_deal();
  deal_of(scene).wseat = {"other"};
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kSeatBlocked);
  EXPECT_EQ(scene.loss(R"("price":3)"), Loss::kWon);
  deal_of(scene).wseat = {"other", "s"};
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kWon);
  scene.request.bseat = {"s"};
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kSeatBlocked);
  scene.request.bseat.clear();
  scene.request.wseat = {"other"};
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kSeatBlocked);
}

TEST(Deals, OnlyAdvertisersThatTheDealNamesAreShownInIt) {
  Scene scene = scene_with_deal();
  deal_of(scene).wadomain = {"adv.example"};
  const auto with = [&scene](const std::string& adomain) {
    return scene.loss(R"("price":3,"dealid":"d1","adomain":)" + adomain);
  };
  EXPECT_EQ(with(R"(["www.ADV.example"])"), Loss::kWon);
  EXPECT_EQ(with(R"(["shop.adv.example"])"), Loss::kWon);
  EXPECT_EQ(with(R"(["adv.example","x.example"])"), Loss::kNotAllowedInDeal);
  EXPECT_EQ(with("[]"), Loss::kNotAllowedInDeal);
  EXPECT_EQ(scene.loss(R"("price":3,"dealid":"d1")"), Loss::kNotAllowedInDeal);
  EXPECT_EQ(scene.loss(R"("price":3,"adomain":["x.example"])"), Loss::kWon);
  scene.dsp.checks.deal = Check::kWarn;
  EXPECT_EQ(with(R"(["x.example"])"), Loss::kWon);
  EXPECT_NE(scene.answer.bids.front().warnings & static_cast<uint16_t>(Warning::kDeal), 0);
}

TEST(Deals, AtAFixedPriceTheBidIsWorthTheFloorAndMayBeFree) {
  Scene scene = scene_with_deal();
  deal_of(scene).at = 3;
  const Bid& bid = scene.bid(R"("price":9,"dealid":"d1")");
  EXPECT_EQ(bid.loss, Loss::kWon);
  EXPECT_EQ(bid.worth().micros, 3'000'000);
  EXPECT_EQ(scene.loss(R"("price":2,"dealid":"d1")"), Loss::kBelowDealFloor);
  deal_of(scene).floor.micros = 0;
  EXPECT_EQ(scene.loss(R"("price":0,"dealid":"d1")"), Loss::kWon);
  deal_of(scene).floor_given = false;
  EXPECT_EQ(scene.bid(R"("price":9,"dealid":"d1")").worth().micros, 9'000'000)
      << "a price that is not named is not fixed";
}

/// Alpha bids in the open auction, beta in the deal d; the imp asks 1, the account takes a tenth.
struct DealMarket : FakeMarket {
  DealMarket(const char* alpha, const char* beta) {
    add("alpha", answers(response_json(bid_json("a", "1", alpha))));
    add("beta", answers(response_json(bid_json("b", "1", beta, R"(,"dealid":"d")"))));
    snapshot.accounts[0].price_margin_ppm = 100'000;
  }
};

std::string request_with(const std::string& deal, const char* at) {
  return request_json(
      R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":1,"pmp":{"deals":[)" + deal + "]}}",
      std::string(R"(,"at":)") + at);
}

TEST(Deals, AFixedPriceDealClearsAtItsFloorWholeAndUntouchedByTheMargin) {
  DealMarket market("2", "9");
  const std::string body = market.run(request_with(R"({"id":"d","bidfloor":3,"at":3})", "2")).body;
  EXPECT_NE(body.find(R"("price":3})"), std::string::npos) << body;
  EXPECT_EQ(market.auction.cleared()[0].gross.micros, 3'000'000);
  EXPECT_EQ(market.auction.cleared()[0].min_to_win.micros, 3'000'000);
}

TEST(Deals, AFixedPriceIsRankedByWhatItPays) {
  DealMarket market("4", "9");
  const std::string body = market.run(request_with(R"({"id":"d","bidfloor":3,"at":3})", "2")).body;
  EXPECT_NE(body.find(R"("seat":"alpha")"), std::string::npos) << body;
  EXPECT_EQ(market.auction.cleared()[0].price.micros, 3'010'000);
  EXPECT_EQ(market.non_bid(1).loss, Loss::kOutbid);
}

TEST(Deals, ADealsAuctionTypeGoesBeforeTheRequests) {
  DealMarket market("2", "9");
  EXPECT_NE(market.run(request_with(R"({"id":"d","at":1})", "2")).body.find(R"("price":9})"),
            std::string::npos);
  DealMarket second("2", "9");
  EXPECT_NE(second.run(request_with(R"({"id":"d","at":2})", "1")).body.find(R"("price":1.81})"),
            std::string::npos);
}

TEST(Deals, ABidBelowItsDealsFloorIsToldSo) {
  DealMarket market("1", "2");
  market.run(request_with(R"({"id":"d","bidfloor":3})", "1"));
  EXPECT_EQ(market.non_bid(1).loss, Loss::kBelowDealFloor);
  EXPECT_EQ(market.non_bid(1).code, openrtb::NonBid::kBelowDealFloor);
}

}  // namespace
}  // namespace spillway::exchange::clearing
