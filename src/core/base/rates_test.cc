#include "base/rates.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rng.h"

namespace spillway::base {
namespace {

constexpr Currency kUsd{};
constexpr Currency kEur{{'E', 'U', 'R'}};
constexpr Currency kJpy{{'J', 'P', 'Y'}};

Rates some_rates() {
  Rates rates(kEur, 1'000'000, std::chrono::milliseconds(500));
  EXPECT_TRUE(rates.add(kUsd, 1'250'000'000));
  EXPECT_TRUE(rates.add(kJpy, 160'000'000'000));
  return rates;
}

int64_t micros(std::optional<Cpm> amount) { return amount ? amount->micros : -1; }

TEST(Rates, ConvertThroughTheBase) {
  const Rates rates = some_rates();
  EXPECT_EQ(micros(rates.convert({1'000'000}, kEur, kUsd, Rounding::kDown)), 1'250'000);
  EXPECT_EQ(micros(rates.convert({1'250'000}, kUsd, kEur, Rounding::kDown)), 1'000'000);
  EXPECT_EQ(micros(rates.convert({1'250'000}, kUsd, kJpy, Rounding::kDown)), 160'000'000);
  EXPECT_EQ(micros(rates.convert({7}, kUsd, kUsd, Rounding::kDown)), 7);
}

TEST(Rates, RoundOnceAndAsTold) {
  const Rates rates = some_rates();
  EXPECT_EQ(micros(rates.convert({1}, kUsd, kEur, Rounding::kDown)), 0);
  EXPECT_EQ(micros(rates.convert({1}, kUsd, kEur, Rounding::kUp)), 1);
  EXPECT_EQ(micros(rates.convert({0}, kUsd, kEur, Rounding::kUp)), 0);
  EXPECT_EQ(micros(rates.convert({5}, kUsd, kEur, Rounding::kUp)), 4) << "exact needs no rounding";
}

TEST(Rates, WhatHasNoRateOrDoesNotFitIsNotConverted) {
  const Rates rates = some_rates();
  constexpr Currency kGbp{{'G', 'B', 'P'}};
  EXPECT_EQ(rates.convert({1}, kGbp, kUsd, Rounding::kDown), std::nullopt);
  EXPECT_EQ(rates.convert({1}, kUsd, kGbp, Rounding::kDown), std::nullopt);
  EXPECT_EQ(rates.convert({INT64_MAX}, kUsd, kJpy, Rounding::kDown), std::nullopt);
  EXPECT_EQ(rates.convert({-1}, kUsd, kEur, Rounding::kDown), std::nullopt);
  EXPECT_EQ(Rates().convert({1}, kUsd, kEur, Rounding::kDown), std::nullopt);
  EXPECT_EQ(micros(Rates().convert({1}, kUsd, kUsd, Rounding::kDown)), 1);
}

TEST(Rates, AreStaleBeyondTheLimitOnEitherSide) {
  const Rates rates = some_rates();
  EXPECT_TRUE(rates.fresh(1'000'500));
  EXPECT_FALSE(rates.fresh(1'000'501));
  EXPECT_TRUE(rates.fresh(999'500));
  EXPECT_FALSE(rates.fresh(999'499)) << "a table from the future is a clock that is wrong";
  EXPECT_FALSE(Rates().fresh(0));
}

TEST(Rates, TakeOneRateACurrencyAndNoneBelowABillionth) {
  Rates rates = some_rates();
  EXPECT_FALSE(rates.add(kEur, 2));
  EXPECT_FALSE(rates.add(kUsd, 2));
  EXPECT_FALSE(rates.add({{'G', 'B', 'P'}}, 0));
  EXPECT_TRUE(rates.add({{'G', 'B', 'P'}}, 1));
}

TEST(Rates, AFloorRoundedUpIsPassedByExactlyTheBidsThatReachIt) {
  Rng rng(3);
  for (int i = 0; i < 100'000; ++i) {
    Rates rates(kEur, 0, std::chrono::milliseconds(1));
    const auto usd = static_cast<int64_t>(1 + rng.below(3'000'000'000));
    ASSERT_TRUE(rates.add(kUsd, usd));
    const auto floor = static_cast<int64_t>(rng.below(10'000'000));
    const int64_t asked = micros(rates.convert({floor}, kEur, kUsd, Rounding::kUp));
    ASSERT_GE(asked * 1'000'000'000, floor * usd) << "reaches it";
    ASSERT_LT((asked - 1) * 1'000'000'000, floor * usd) << "a micro less does not";
  }
}

}  // namespace
}  // namespace spillway::base
