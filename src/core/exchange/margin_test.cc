#include "exchange/clearing/margin.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rng.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/judged_bid.h"
#include "exchange/explain.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "exchange/replay.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"

namespace spillway::exchange {
namespace {

using base::Cpm;
using clearing::gross_of;
using clearing::net_of;
using openrtb::Loss;

constexpr uint32_t kTenPercent = 100'000;

std::string decimal(int64_t micros) {
  std::string out;
  base::append_micros(out, micros);
  return out;
}

TEST(Margin, IsTakenFromThePriceInWholeMicrosRoundedDown) {
  EXPECT_EQ(net_of({1'000'000}, kTenPercent).micros, 900'000);
  EXPECT_EQ(net_of({1}, kTenPercent).micros, 0);
  EXPECT_EQ(net_of({11}, kTenPercent).micros, 9);
  EXPECT_EQ(net_of({1'234'567}, 1).micros, 1'234'565);
  EXPECT_EQ(net_of({1'234'567}, 0).micros, 1'234'567);
  EXPECT_EQ(net_of({INT64_MAX}, 900'000).micros, INT64_MAX / 10);
  EXPECT_EQ(gross_of({900'000}, kTenPercent).micros, 1'000'000);
  EXPECT_EQ(gross_of({900'001}, kTenPercent).micros, 1'000'002);
  EXPECT_EQ(gross_of({0}, kTenPercent).micros, 0);
  EXPECT_EQ(gross_of({INT64_MAX}, 1).micros, INT64_MAX);
}

TEST(Margin, GrossIsTheLeastPriceThatNetsEnough) {
  base::Rng rng(11);
  for (int i = 0; i < 200'000; ++i) {
    const auto ppm = static_cast<uint32_t>(rng.below(clearing::kMarginMaxPpm + 1));
    const Cpm net{static_cast<int64_t>(rng.below(uint64_t{1} << (1 + rng.below(57))))};
    const Cpm gross = gross_of(net, ppm);
    ASSERT_EQ(net_of(gross, ppm), net) << net.micros << " at " << ppm;
    ASSERT_LE(net, gross);
    if (gross.micros > 0) {
      ASSERT_LT(net_of({gross.micros - 1}, ppm), net) << net.micros << " at " << ppm;
    }
  }
}

TEST(Margin, FloorsAreComparedWithTheNetToTheMicro) {
  clearing::Scene scene;
  scene.margin_ppm = kTenPercent;
  scene.imp().floor = Cpm{900'000};
  EXPECT_EQ(scene.loss(R"("price":1.000000)"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":0.999999)"), Loss::kBelowFloor);
  scene.imp().floor = Cpm{900'001};
  EXPECT_EQ(scene.loss(R"("price":1.000001)"), Loss::kBelowFloor);
  EXPECT_EQ(scene.loss(R"("price":1.000002)"), Loss::kWon);
  scene.imp().floor = Cpm{0};
  EXPECT_EQ(scene.loss(R"("price":0.000001)"), Loss::kInvalidResponse) << "nets nothing";
}

TEST(Margin, IsNotTakenOnADealThatWasOffered) {
  clearing::Scene scene;
  scene.margin_ppm = kTenPercent;
  scene.imp().floor = Cpm{1'000'000};
  scene.imp().deals = {{.id = "d1"}};
  EXPECT_EQ(scene.loss(R"("price":1,"dealid":"d1")"), Loss::kWon);
  EXPECT_EQ(scene.loss(R"("price":0.999999,"dealid":"d1")"), Loss::kBelowFloor);
  scene.dsp.checks.deal = Check::kWarn;
  EXPECT_EQ(scene.loss(R"("price":1,"dealid":"mine")"), Loss::kBelowFloor)
      << "a deal nobody offered is the open auction";
}

/// One imp with a floor, two DSPs, an account with a margin.
struct Sale {
  FakeMarket market;

  explicit Sale(std::string_view alpha, std::string_view beta, uint32_t ppm = kTenPercent) {
    market.add("alpha", answers(response_json(bid_json("a", "1", alpha, kMore))));
    market.add("beta", answers(response_json(bid_json("b", "1", beta, kMore))));
    market.snapshot.accounts[0].price_margin_ppm = ppm;
  }

  const std::string& run(int at, std::string_view floor, std::string_view more = "") {
    std::string imp = R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":)";
    imp += floor;
    imp += more;
    imp += '}';
    return market.run(request_json(imp, at == 2 ? R"(,"at":2)" : R"(,"at":1)")).body;
  }

  [[nodiscard]] const clearing::Cleared& cleared() const { return market.auction.cleared()[0]; }

  static constexpr std::string_view kMore = R"(,"ext":{"w":"x"})";
};

TEST(Margin, CallersGetTheNetAndTheDspPaysTheGross) {
  FakeMarket market;
  market.add("alpha", answers(response_json(R"({"id":"a","impid":"1","price":2,)"
                                            R"("adm":"p=${AUCTION_PRICE} m=${AUCTION_MBR}"})")));
  market.snapshot.accounts[0].price_margin_ppm = kTenPercent;
  const std::string body = market.run(request_json()).body;
  EXPECT_NE(body.find(R"("price":1.8})"), std::string::npos) << body;
  EXPECT_NE(body.find("p=2 m=1"), std::string::npos) << body;
}

TEST(Margin, ASecondPriceIsTheLeastGrossThatPaysWhatIsDue) {
  Sale sale("3", "2");
  const std::string& body = sale.run(2, "0.5");
  // Due: beta's net of 1.8 and an increment of 0.01.
  EXPECT_EQ(sale.cleared().price.micros, 1'810'000);
  EXPECT_EQ(sale.cleared().gross.micros, 2'011'112);
  EXPECT_EQ(sale.cleared().min_to_win.micros, 2'000'000);
  EXPECT_NE(body.find(R"("price":1.81})"), std::string::npos) << body;
  sale.run(2, "2.695");
  EXPECT_EQ(sale.cleared().price.micros, 2'700'000) << "never above its own bid";
  EXPECT_EQ(sale.cleared().gross.micros, 3'000'000);
}

TEST(Margin, ADealBidIsRankedByItsWholePrice) {
  FakeMarket market;
  market.add("alpha", answers(response_json(bid_json("a", "1", "2.1"))));
  market.add("beta", answers(response_json(bid_json("b", "1", "2", R"(,"dealid":"d")"))));
  market.snapshot.accounts[0].price_margin_ppm = kTenPercent;
  const std::string body =
      market
          .run(
              request_json(R"({"id":"1","banner":{"w":300,"h":250},"pmp":{"deals":[{"id":"d"}]}})"))
          .body;
  EXPECT_NE(body.find(R"("price":2})"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("seat":"beta")"), std::string::npos) << body;
}

TEST(Margin, DspsAreToldFloorsAtWhichABidPasses) {
  Sale sale("1.000002", "1.000001");
  sale.run(1, "0.900001", R"(,"pmp":{"deals":[{"id":"d","bidfloor":0.7}]})");
  for (const char* key : {"alpha/display", "beta/display"}) {
    const std::string& sent = sale.market.seen[key];
    EXPECT_NE(sent.find(R"("bidfloor":1.000002,)"), std::string::npos) << sent;
    EXPECT_NE(sent.find(R"("bidfloor":0.7)"), std::string::npos) << "a deal's own floor stays";
  }
  EXPECT_EQ(sale.market.auction.report(0).bids_valid, 1U);
  EXPECT_EQ(sale.market.auction.report(1).bids_valid, 0U);
  Sale without("1", "1", 0);
  without.run(1, "0.90000100");
  EXPECT_NE(without.market.seen["alpha/display"].find(R"("bidfloor":0.90000100)"),
            std::string::npos)
      << "without a margin not a byte changes";
}

TEST(Margin, ADspWhosePricesAreAdjustedIsToldWhatToBidForIt) {
  FakeMarket market;
  const auto answer = [](std::string_view price) {
    return answers(response_json(bid_json("a", "1", price)));
  };
  market.add("alpha", answer("1")).adjustment_ppm = 900'000;
  market.add("beta", answer("0.999999")).adjustment_ppm = 900'000;
  market.add("gamma", answer("0.9"));
  market.run(request_json(R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":0.90})"));
  for (const char* key : {"alpha/display", "beta/display"}) {
    EXPECT_NE(market.seen[key].find(R"("bidfloor":1})"), std::string::npos) << market.seen[key];
  }
  EXPECT_NE(market.seen["gamma/display"].find(R"("bidfloor":0.90})"), std::string::npos);
  EXPECT_EQ(market.auction.report(0).bids_valid, 1U) << "at what it was told";
  EXPECT_EQ(market.auction.report(1).bids_valid, 0U) << "a micro below";
  EXPECT_EQ(market.auction.report(2).bids_valid, 1U);
}

TEST(Margin, NetIsAtMostGrossAtMostTheBidAndAtLeastTheFloorAndReplays) {
  base::Rng rng(5);
  for (int i = 0; i < 2'000; ++i) {
    const auto price = [&rng] { return decimal(static_cast<int64_t>(rng.below(3'000'000))); };
    Sale sale(price(), price(), static_cast<uint32_t>(rng.below(clearing::kMarginMaxPpm + 1)));
    const auto floor_micros = static_cast<int64_t>(rng.below(1'000'000));
    const std::string body = sale.run(1 + static_cast<int>(rng.below(2)), decimal(floor_micros));
    Auction again;
    ASSERT_EQ(replay(sale.market.snapshot, sale.market.record, again).body, body);
    if (sale.market.auction.cleared().empty() ||
        sale.cleared().winner == clearing::Cleared::kNobody) {
      continue;
    }
    const clearing::Cleared& cleared = sale.cleared();
    const clearing::Bid& winner = *sale.market.auction.bids()[cleared.winner];
    ASSERT_LE(cleared.price, cleared.gross);
    ASSERT_LE(cleared.gross, winner.price);
    ASSERT_GE(cleared.price.micros, floor_micros);
    ASSERT_EQ(net_of(cleared.gross, winner.margin_ppm), cleared.price);
  }
}

TEST(Margin, ExplainTellsBoth) {
  Sale sale("3", "2");
  sale.run(1, "0.5");
  const Explained told{.snapshot = &sale.market.snapshot,
                       .record = &sale.market.record,
                       .auction = &sale.market.auction};
  const std::string text = explain_as_text(told);
  EXPECT_NE(text.find("price 3 USD (net 2.7): won, pays 3 (net 2.7)"), std::string::npos) << text;
  const std::string json = explain_as_json(told);
  EXPECT_NE(json.find(R"("price":3,"net":2.7)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("clearing_price":3,"net_price":2.7)"), std::string::npos) << json;
}

}  // namespace
}  // namespace spillway::exchange
