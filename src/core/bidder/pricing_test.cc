#include "bidder/pricing.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rates.h"
#include "base/rng.h"
#include "bidder/model.h"

namespace spillway::bidder {
namespace {

using base::Cpm;

constexpr base::Currency kUsd{};
constexpr base::Currency kEur{{'E', 'U', 'R'}};
constexpr base::Currency kJpy{{'J', 'P', 'Y'}};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

base::Rates some_rates() {
  base::Rates rates(kUsd, 1, std::chrono::milliseconds(1000));
  EXPECT_TRUE(rates.add(kEur, 800'000'000));
  EXPECT_TRUE(rates.add(kJpy, 150'000'000'000));
  return rates;
}

// Pays 2 USD a click, at most 10 USD CPM.
CampaignTerms per_click() {
  return {.goal = Goal::kCpc, .goal_value_micros = 2'000'000, .most = {10'000'000}};
}

SaleTerms first_price(int64_t floor_micros) {
  return {.floor = {floor_micros}, .at = SaleTerms::At::kFirst};
}

TEST(Pricing, ValueIsProbabilityTimesGoalValueForAThousandImpressions) {
  EXPECT_EQ(expected_value(per_click(), 0.001), Cpm{1'999'999});  // 0.001 lies below a thousandth.
  EXPECT_EQ(expected_value(per_click(), 0.0009765625), Cpm{1'953'125});
  CampaignTerms terms = per_click();
  terms.goal = Goal::kCpa;
  EXPECT_EQ(expected_value(terms, 0.5), Cpm{1'000'000'000});
}

TEST(Pricing, ACpmGoalIsItsOwnValueWhateverTheProbability) {
  CampaignTerms terms = per_click();
  terms.goal = Goal::kCpm;
  EXPECT_EQ(expected_value(terms, 0.1), Cpm{2'000'000});
}

TEST(Pricing, OneImpressionCostsAThousandthOfItsCpmExactly) {
  EXPECT_EQ(base::cost_of(Cpm{2'770'000}), base::money_of_micros(2'770));
  EXPECT_EQ(base::cost_of(Cpm{1}).nanos, 1);
}

TEST(Pricing, ADayOfAThousandDollarsBuysAllTheImpressionsItIsWorth) {
  // 1000 USD at 2.77 USD CPM: a system that took CPM for cost stopped after 361.
  const int64_t budget = base::money_of_micros(1'000'000'000).nanos;
  EXPECT_EQ(budget / base::cost_of(Cpm{2'770'000}).nanos, 361'010);
}

TEST(Pricing, ABidThatEqualsItsFloorPasses) {
  const auto price = price_bid(per_click(), 0.0009765625, first_price(1'953'125), {});
  ASSERT_TRUE(price);
  EXPECT_EQ(price->bid, Cpm{1'953'125});
  const auto below = price_bid(per_click(), 0.0009765625, first_price(1'953'126), {});
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error(), PriceErrc::kBelowFloor);
}

TEST(Pricing, ABidNeverExceedsTheCampaignsMaximum) {
  const auto price = price_bid(per_click(), 1, first_price(0), {});
  ASSERT_TRUE(price);
  EXPECT_EQ(price->bid, Cpm{10'000'000});
  EXPECT_EQ(price_bid(per_click(), 1, first_price(10'000'001), {}).error(), PriceErrc::kBelowFloor);
}

TEST(Pricing, AMarginIsKeptOfWhatTheAdvertiserPays) {
  CampaignTerms terms = per_click();
  terms.margin_ppm = 200'000;
  const auto price = price_bid(terms, 0.0009765625, first_price(0), {});
  ASSERT_TRUE(price);
  EXPECT_EQ(price->bid, Cpm{1'562'500});
  EXPECT_EQ(price->hold, base::cost_of(Cpm{1'953'125}));
  EXPECT_EQ(charge_of(terms, Cpm{800'000}, kUsd, {}), base::cost_of(Cpm{1'000'000}));
}

TEST(Pricing, WhatAnAdvertiserPaysIsRoundedUpInItsCurrencyAndAgainForTheMargin) {
  const base::Rates rates = some_rates();
  CampaignTerms terms = per_click();
  EXPECT_EQ(charge_of(terms, Cpm{1}, kEur, rates), base::cost_of(Cpm{2}));  // 1.25 USD
  EXPECT_EQ(charge_of(terms, Cpm{4}, kEur, rates), base::cost_of(Cpm{5}));
  terms.margin_ppm = 200'000;
  EXPECT_EQ(charge_of(terms, Cpm{4}, kUsd, rates), base::cost_of(Cpm{5}));
  EXPECT_EQ(charge_of(terms, Cpm{5}, kUsd, rates), base::cost_of(Cpm{7}));  // 6.25
  EXPECT_EQ(charge_of(terms, Cpm{1}, kEur, rates), base::cost_of(Cpm{3}));  // 2 and then 2.5
}

TEST(Pricing, ATermsMarginIsRoundedUpAndStaysBelowAll) {
  Campaign campaign;
  campaign.margin_ratio = 0.1234567;
  EXPECT_EQ(terms_of(campaign).margin_ppm, 123'457U);
  campaign.margin_ratio = 0.99999999;
  EXPECT_EQ(terms_of(campaign).margin_ppm, 999'999U);
  campaign.margin_ratio = kNan;
  EXPECT_EQ(terms_of(campaign).margin_ppm, 0U);
}

TEST(Pricing, AnswersThatAreNoProbabilityNeverBecomeAPrice) {
  for (const double bad : {kNan, -0.001, 1.001, std::numeric_limits<double>::infinity()}) {
    const auto price = price_bid(per_click(), bad, first_price(0), {});
    ASSERT_FALSE(price);
    EXPECT_EQ(price.error(), PriceErrc::kBadProbability);
  }
  EXPECT_EQ(price_bid(per_click(), 0, first_price(0), {}).error(), PriceErrc::kWorthless);
}

TEST(Pricing, TheBidIsInTheSalesCurrencyAndTheFloorIsRoundedUp) {
  const base::Rates rates = some_rates();
  SaleTerms sale{.floor = {100'000'000},
                 .floor_currency = kJpy,  // 100 JPY: 0.5333.. EUR.
                 .currency = kEur,
                 .at = SaleTerms::At::kSecond};
  const auto price = price_bid(per_click(), 0.0009765625, sale, rates);
  ASSERT_TRUE(price);
  EXPECT_EQ(price->bid, Cpm{1'562'500});
  EXPECT_EQ(price->floor, Cpm{533'334});
  EXPECT_EQ(price->hold, base::cost_of(Cpm{1'953'125}));
}

TEST(Pricing, WithoutARateThereIsNoBid) {
  SaleTerms sale = first_price(0);
  sale.currency = kEur;
  EXPECT_EQ(price_bid(per_click(), 0.1, sale, {}).error(), PriceErrc::kNoRate);
  sale.currency = kUsd;
  sale.floor = {1};
  sale.floor_currency = kEur;
  EXPECT_EQ(price_bid(per_click(), 0.1, sale, {}).error(), PriceErrc::kNoRate);
  EXPECT_FALSE(charge_of(per_click(), Cpm{1}, kEur, {}));
}

TEST(Pricing, OnlyFirstPriceBidsAreShaded) {
  const SurplusShade shade{.keep_ratio = 0.25};
  SaleTerms sale = first_price(1'000'000);
  const auto first = price_bid(per_click(), 0.0009765625, sale, {}, shade.hook());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bid, Cpm{1'238'281});
  EXPECT_EQ(first->value, Cpm{1'953'125});
  sale.at = SaleTerms::At::kSecond;
  EXPECT_EQ(price_bid(per_click(), 0.0009765625, sale, {}, shade.hook())->bid, Cpm{1'953'125});
}

TEST(Pricing, AHookCanNeverLeaveTheSpanFromFloorToValue) {
  static constexpr int64_t kWild[] = {INT64_MIN, -1, 0, INT64_MAX};
  for (const int64_t& wild : kWild) {
    const Shading hook{[](const void* context, const ShadeQuestion&) {
                         return Cpm{*static_cast<const int64_t*>(context)};
                       },
                       &wild};
    const auto price = price_bid(per_click(), 0.0009765625, first_price(1'000'000), {}, hook);
    ASSERT_TRUE(price);
    EXPECT_EQ(price->bid, wild == INT64_MAX ? price->value : price->floor);
  }
  const SurplusShade nan{.keep_ratio = kNan};
  EXPECT_EQ(price_bid(per_click(), 0.0009765625, first_price(0), {}, nan.hook())->bid,
            Cpm{1'953'125});
}

TEST(Pricing, AFixedPriceDealIsBidAtItsPrice) {
  SaleTerms sale = first_price(1'000'000);
  sale.at = SaleTerms::At::kFixed;
  const auto price = price_bid(per_click(), 0.0009765625, sale, {});
  ASSERT_TRUE(price);
  EXPECT_EQ(price->bid, Cpm{1'000'000});
  sale.floor = {1'953'126};
  EXPECT_EQ(price_bid(per_click(), 0.0009765625, sale, {}).error(), PriceErrc::kBelowFloor);
  sale.floor = {0};
  EXPECT_EQ(price_bid(per_click(), 0.0009765625, sale, {}).error(), PriceErrc::kWorthless);
}

TEST(Pricing, TheLargestAmountsDoNotOverflow) {
  const CampaignTerms terms{.goal = Goal::kCpa,
                            .goal_value_micros = INT64_MAX,
                            .most = {INT64_MAX},
                            .margin_ppm = 999'999,
                            .currency = kUsd};
  EXPECT_EQ(expected_value(terms, 1), Cpm{INT64_MAX});
  const auto price = price_bid(terms, 1, first_price(0), {});
  ASSERT_TRUE(price);
  EXPECT_LE(price->hold, base::Money{INT64_MAX});
  EXPECT_FALSE(charge_of(terms, Cpm{INT64_MAX}, kUsd, {}));
  EXPECT_FALSE(charge_of(terms, Cpm{-1}, kUsd, {}));
}

// Amounts of every size, the small ones as often as the large.
int64_t some_amount(base::Rng& rng) {
  return static_cast<int64_t>(rng.next() >> (1 + rng.below(62)));
}

TEST(Pricing, ForAnyTermsTheBidIsFromTheFloorToTheMaximumAndTheHoldCoversIt) {
  const base::Rates rates = some_rates();
  const base::Currency currencies[] = {kUsd, kEur, kJpy};
  base::Rng rng(1);
  int priced = 0;
  for (int i = 0; i < 100'000; ++i) {
    const CampaignTerms terms{.goal = static_cast<Goal>(rng.below(3)),
                              .goal_value_micros = some_amount(rng),
                              .most = {some_amount(rng)},
                              .margin_ppm = static_cast<uint32_t>(rng.below(1'000'000)),
                              .currency = currencies[rng.below(3)]};
    const SaleTerms sale{.floor = {some_amount(rng) >> rng.below(40)},
                         .floor_currency = currencies[rng.below(3)],
                         .currency = currencies[rng.below(3)],
                         .at = static_cast<SaleTerms::At>(1 + rng.below(3))};
    const SurplusShade shade{.keep_ratio = rng.uniform(-0.5, 1.5)};
    const double probability = rng.uniform() * rng.uniform();
    const auto price = price_bid(terms, probability, sale, rates, shade.hook());
    if (!price) {
      continue;
    }
    ++priced;
    const auto expected = expected_value(terms, probability);
    const auto most =
        rates.convert(terms.most, terms.currency, sale.currency, base::Rounding::kDown);
    const auto floor =
        rates.convert(sale.floor, sale.floor_currency, sale.currency, base::Rounding::kUp);
    ASSERT_TRUE(floor && expected);
    ASSERT_GE(price->bid, *floor);
    ASSERT_TRUE(!most || price->bid <= *most);
    ASSERT_LE(price->bid, price->value);
    ASSERT_GT(price->bid.micros, 0);
    // The advertiser never pays more than the impression is worth to it.
    ASSERT_LE(price->hold, base::cost_of(*expected));
    const Cpm cleared{
        static_cast<int64_t>(rng.below(static_cast<uint64_t>(price->bid.micros) + 1))};
    const auto charge = charge_of(terms, cleared, sale.currency, rates);
    ASSERT_TRUE(charge);
    ASSERT_LE(*charge, price->hold);
  }
  EXPECT_GT(priced, 10'000);
}

}  // namespace
}  // namespace spillway::bidder
