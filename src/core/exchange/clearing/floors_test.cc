#include "exchange/clearing/floors.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/money.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "exchange/clearing/rates.h"
#include "exchange/fake_market.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

constexpr base::Currency kUsd;
constexpr base::Currency kEur{{'E', 'U', 'R'}};
constexpr base::Currency kJpy{{'J', 'P', 'Y'}};

/// A euro is 1.25 dollars.
Rates euro_rates() {
  Rates rates(kEur, 0, std::chrono::hours(1));
  EXPECT_TRUE(rates.add(kUsd, 1'250'000'000));
  return rates;
}

Floor usd(int64_t micros) { return {.price = {micros}, .currency = kUsd}; }

Floor eur(int64_t micros) { return {.price = {micros}, .currency = kEur}; }

TEST(FloorsTest, TheHighestCountsInOneCurrencyRoundedUp) {
  const Rates rates = euro_rates();
  const std::array<Floor, 3> floors = {usd(1'000'000), eur(800'001), Floor{}};
  EXPECT_EQ(highest(floors, kUsd, &rates), base::Cpm{1'000'002});
  EXPECT_EQ(highest(floors, kEur, &rates), base::Cpm{800'001});
  EXPECT_EQ(highest(floors, kUsd, nullptr), std::nullopt) << "one of them cannot be told";
  EXPECT_EQ(highest({floors.data() + 2, 1}, kJpy, nullptr), base::Cpm{}) << "none needs no rate";
}

TEST(FloorsTest, WhatIsAnnouncedIsInTheImpsCurrencyOrInTheFirstThatHasAFloor) {
  const Rates rates = euro_rates();
  const std::array<Floor, 2> others = {eur(1'000'000), usd(1'300'000)};
  EXPECT_EQ(announced(usd(1'000'000), others, &rates), usd(1'300'000));
  EXPECT_EQ(announced(usd(2'000'000), others, &rates), usd(2'000'000));
  EXPECT_EQ(announced({}, others, &rates), eur(1'040'000));
  EXPECT_EQ(announced(usd(1), others, nullptr), usd(1'300'000)) << "what has no rate is left out";
  EXPECT_EQ(announced(usd(5), {}, nullptr), usd(5));
}

TEST(FloorsTest, ADealsOwnFloorStandsAloneElseTheHighestOfImpAccountAndDsp) {
  Scene scene;
  scene.imp().floor = base::Cpm{1'000'000};
  scene.dsp.floor = usd(1'100'000);
  scene.account_floor = usd(1'200'000);
  EXPECT_EQ(scene.loss(R"("price":1.2)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":1.199999)"), Loss::kBelowFloor);
  scene.account_floor = {};
  EXPECT_EQ(scene.loss(R"("price":1.1)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":1.099999)"), Loss::kBelowFloor);
  scene.dsp.floor = {};
  EXPECT_EQ(scene.loss(R"("price":1)"), Loss::kWon);
  scene.account_floor = usd(9'000'000);
  scene.imp().deals = {{.id = "d", .floor = {500'000}, .floor_given = true}, {.id = "e"}};
  EXPECT_EQ(scene.loss(R"("price":0.5,"dealid":"d")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":0.499999,"dealid":"d")"), Loss::kBelowDealFloor);
  EXPECT_EQ(scene.loss(R"("price":8.9,"dealid":"e")"), Loss::kBelowFloor) << "no floor of its own";
}

TEST(FloorsTest, AnOperatorsFloorWithoutARateFailsClosed) {
  Scene scene;
  scene.account_floor = eur(1);
  EXPECT_EQ(scene.loss(R"("price":5)"), Loss::kNoFxRate);
  const Rates rates = euro_rates();
  scene.rates = &rates;
  EXPECT_EQ(scene.loss(R"("price":5)"), Loss::kWon);
  EXPECT_EQ(scene.answer.bids.front().floor.micros, 2);
}

TEST(FloorsTest, AVideoThatSaysItsDurationIsHeldToTheFloorForIt) {
  Scene scene;
  const auto loss = [&](std::string_view price, std::string_view dur) {
    return scene.loss(R"("adm":"<VAST/>","price":)" + std::string(price) + R"(,"dur":)" +
                      std::string(dur));
  };
  const std::string video =
      R"({"id":"req-1","imp":[{"id":"1","bidfloor":1,"video":{"mimes":["a/b"],)";
  scene.ask(video + R"("durfloors":[{"mindur":1,"maxdur":15,"bidfloor":2},)"
                    R"({"mindur":16,"bidfloor":0.5}]}}]})");
  EXPECT_EQ(loss("2", "15"), Loss::kWon);
  EXPECT_EQ(loss("1.9", "15"), Loss::kBelowFloor);
  EXPECT_EQ(loss("0.5", "60"), Loss::kWon);
  EXPECT_EQ(loss("0.9", "0"), Loss::kBelowFloor) << "unsaid: the imp's";
  scene.ask(video + R"("mincpmpersec":0.1}}]})");
  EXPECT_EQ(loss("3", "30"), Loss::kWon);
  EXPECT_EQ(loss("2.999999", "30"), Loss::kBelowFloor);
  EXPECT_EQ(loss("1", "0"), Loss::kWon);
}

TEST(FloorsTest, ThePriceCapIsInDollarsWhereThereIsARate) {
  Scene scene;
  scene.request.currencies = {kEur, kJpy};
  scene.dsp.checks.price_cap = base::Cpm{1'000'000};
  const auto loss = [&](std::string_view price) {
    return scene.loss(R"("price":)" + std::string(price), R"("cur":"EUR",)");
  };
  EXPECT_EQ(loss("1"), Loss::kWon);
  EXPECT_EQ(loss("1.000001"), Loss::kPriceSanity);
  const Rates rates = euro_rates();
  scene.rates = &rates;
  EXPECT_EQ(loss("0.8"), Loss::kWon);
  EXPECT_EQ(loss("0.800001"), Loss::kPriceSanity);
}

TEST(FloorsTest, DspsAreToldTheFloorsOfAccountAndDspAndABidAtThemPasses) {
  FakeMarket market;
  market.add("alpha", answers(response_json(bid_json("a", "1", "2")))).floor = usd(2'000'000);
  market.add("beta", answers(response_json(bid_json("a", "1", "1.499999"))));
  market.snapshot.accounts[0].floor = usd(1'500'000);
  market.run(request_json(R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":1})"));
  EXPECT_NE(market.seen["alpha/display"].find(R"("bidfloor":2})"), std::string::npos);
  EXPECT_NE(market.seen["beta/display"].find(R"("bidfloor":1.5})"), std::string::npos);
  EXPECT_EQ(market.auction.report(0).bids_valid, 1U);
  EXPECT_EQ(market.auction.report(1).bids_valid, 0U);
}

}  // namespace
}  // namespace spillway::exchange::clearing
