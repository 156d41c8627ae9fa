#include "bidder/pacing/local_grant.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/rng.h"
#include "base/time.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/one_campaign_test.h"

namespace spillway::bidder {
namespace {

void expect_balance(const Balance& balance, int64_t spent, int64_t open, int64_t available) {
  EXPECT_EQ(balance.spent.nanos, spent);
  EXPECT_EQ(balance.open.nanos, open);
  EXPECT_EQ(balance.available.nanos, available);
  EXPECT_EQ(balance.budget.nanos, spent + open + available);
}

TEST(LocalGrant, ARefreshNeverRefillsWhatWasSpent) {
  Bench bench(1'000);
  int64_t spent = 0;
  for (uint64_t minute = 0; minute < 1'440; ++minute) {
    bench.refresh(1'000);
    for (uint64_t i = 0; i < 10; ++i) {
      if (bench.bid(minute * 10 + i, 7)) {
        EXPECT_EQ(bench.grant.settle(minute * 10 + i, {7}), SettleOutcome::kSettled);
        spent += 7;
      }
    }
  }
  EXPECT_EQ(spent, 994);
  expect_balance(bench.today(), 994, 0, 6);
}

TEST(LocalGrant, WhatIsNotAvailableIsRefusedHoweverLittleIsMissing) {
  Bench bench(100);
  EXPECT_EQ(bench.grant.try_reserve(kCampaign, {101}, at(kNoon)).error(), ReserveErrc::kExhausted);
  EXPECT_TRUE(bench.bid(1, 99));
  EXPECT_FALSE(bench.bid(2, 2));
  EXPECT_TRUE(bench.bid(3, 1));
  expect_balance(bench.today(), 0, 100, 0);
}

TEST(LocalGrant, ALossGivesBackAndAWinCostsItsClearingPrice) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.lose(1), SettleOutcome::kSettled);
  expect_balance(bench.today(), 0, 0, 100);
  ASSERT_TRUE(bench.bid(2, 60));
  EXPECT_EQ(bench.grant.settle(2, {45}), SettleOutcome::kSettled);
  expect_balance(bench.today(), 45, 0, 55);
}

TEST(LocalGrant, AReservationThatIsDroppedAnywhereIsGivenBack) {
  Bench bench(100);
  {
    const auto dropped = bench.grant.try_reserve(kCampaign, {60}, at(kNoon));
    ASSERT_TRUE(dropped);
    expect_balance(bench.today(), 0, 60, 40);
  }
  expect_balance(bench.today(), 0, 0, 100);
  auto first = bench.grant.try_reserve(kCampaign, {30}, at(kNoon));
  auto second = bench.grant.try_reserve(kCampaign, {50}, at(kNoon));
  ASSERT_TRUE(first && second);
  *first = std::move(*second);  // What it held before is given back.
  expect_balance(bench.today(), 0, 50, 50);
  const Reservation moved = std::move(*first);
  EXPECT_FALSE(first->held());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved.held());
  EXPECT_EQ(bench.grant.counts().cancelled, 2U);
}

TEST(LocalGrant, ABidWithoutANoticeIsLostWhenItsTimeIsOver) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.expire(at(0, 119).now), 0U);
  expect_balance(bench.today(), 0, 60, 40);
  EXPECT_EQ(bench.grant.expire(at(0, 120).now), 1U);
  expect_balance(bench.today(), 0, 0, 100);
  EXPECT_EQ(bench.grant.settle(1, {60}), SettleOutcome::kUnknown);
  expect_balance(bench.today(), 0, 0, 100);
}

TEST(LocalGrant, ANoticeThatComesTwiceMovesMoneyOnce) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.settle(1, {50}), SettleOutcome::kSettled);
  EXPECT_EQ(bench.grant.settle(1, {50}), SettleOutcome::kDuplicate);
  EXPECT_EQ(bench.grant.lose(1), SettleOutcome::kDuplicate);
  expect_balance(bench.today(), 50, 0, 50);
}

TEST(LocalGrant, AWinStaysAWinWhateverNoticesFollow) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.settle(1, {50}), SettleOutcome::kSettled);
  EXPECT_EQ(bench.grant.lose(1), SettleOutcome::kDuplicate);
  EXPECT_EQ(bench.grant.settle(1, {50}), SettleOutcome::kDuplicate);
  EXPECT_EQ(bench.grant.charge_unknown(1, kCampaign, {50}, at(kNoon)), SettleOutcome::kDuplicate);
  expect_balance(bench.today(), 50, 0, 50);
}

TEST(LocalGrant, AWinAfterALossIsChargedAsFarAsMoneyIsThere) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.lose(1), SettleOutcome::kSettled);
  ASSERT_TRUE(bench.bid(2, 70));
  EXPECT_EQ(bench.grant.settle(1, {60}), SettleOutcome::kLate);
  expect_balance(bench.today(), 30, 70, 0);
  EXPECT_EQ(bench.grant.counts().unfunded_nanos, 30);
  EXPECT_EQ(bench.grant.settle(1, {60}), SettleOutcome::kDuplicate);
}

TEST(LocalGrant, AWinNobodyKnowsIsChargedOnceWhenTheCallerVouchesForIt) {
  Bench bench(100);
  EXPECT_EQ(bench.grant.charge_unknown(9, kCampaign, {40}, at(kNoon)), SettleOutcome::kLate);
  EXPECT_EQ(bench.grant.charge_unknown(9, kCampaign, {40}, at(kNoon)), SettleOutcome::kDuplicate);
  EXPECT_EQ(bench.grant.charge_unknown(10, 12345, {40}, at(kNoon)), SettleOutcome::kUnknown);
  expect_balance(bench.today(), 40, 0, 60);
}

TEST(LocalGrant, APriceAboveTheBidIsChargedUpToTheBidAndCounted) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 10));
  EXPECT_EQ(bench.grant.settle(1, {25}), SettleOutcome::kOvercharged);
  expect_balance(bench.today(), 10, 0, 90);
  EXPECT_EQ(bench.grant.counts().overcharged_nanos, 15);
}

TEST(LocalGrant, ANegativeClearingPriceNeverGivesMoney) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 10));
  EXPECT_EQ(bench.grant.settle(1, {-5'000}), SettleOutcome::kSettled);
  expect_balance(bench.today(), 0, 0, 100);
  EXPECT_EQ(bench.grant.try_reserve(kCampaign, {-1}, at(kNoon)).error(), ReserveErrc::kBadAmount);
}

TEST(LocalGrant, ABidKeyIsTakenOnce) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 10));
  EXPECT_FALSE(bench.bid(1, 10));
  expect_balance(bench.today(), 0, 10, 90);
}

TEST(LocalGrant, ADayRollsOnceHoweverTheClockSteps) {
  Bench bench(100);
  const BudgetTime before = at(20'001 * kDayS - 1);
  const BudgetTime after = at(20'001 * kDayS + 1);
  ASSERT_TRUE(bench.bid(1, 100, before));
  EXPECT_EQ(bench.grant.settle(1, {100}), SettleOutcome::kSettled);
  for (uint64_t step = 0; step < 20; ++step) {
    EXPECT_FALSE(bench.bid(100 + step, 1, before));
    EXPECT_EQ(bench.bid(200 + step, 50, after), step < 2) << step;
  }
  expect_balance(bench.today(before), 100, 0, 0);
  expect_balance(bench.today(after), 0, 100, 0);
}

TEST(LocalGrant, AClockThatRunsAYearAheadAndComesBackRefillsNothing) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 100));
  EXPECT_EQ(bench.grant.settle(1, {100}), SettleOutcome::kSettled);
  for (int64_t year = 1; year < 10; ++year) {
    EXPECT_TRUE(bench.grant.try_reserve(kCampaign, {1}, at(kNoon + year * 365 * kDayS)));
    EXPECT_FALSE(bench.grant.try_reserve(kCampaign, {1}, at(kNoon)));
  }
  EXPECT_EQ(bench.today().available.nanos, 0);
}

TEST(LocalGrant, AnHourThatDaylightSavingRepeatsBelongsToItsDay) {
  // A zone that turns its clock back at midnight: 23:00 to 24:00 comes twice.
  Bench bench(100);
  const int64_t midnight = 20'001 * kDayS;
  ASSERT_TRUE(bench.bid(1, 80, at(midnight - 60)));
  ASSERT_TRUE(bench.bid(2, 90, at(midnight + 1)));
  EXPECT_FALSE(bench.bid(3, 30, at(midnight - 3'000)));
  ASSERT_TRUE(bench.bid(4, 20, at(midnight - 60)));
  EXPECT_FALSE(bench.bid(5, 20, at(midnight + 1)));
  EXPECT_TRUE(bench.bid(6, 10, at(midnight + 1)));
}

TEST(LocalGrant, AWinAfterMidnightIsSpendOfTheDayItWasReservedOn) {
  Bench bench(100);
  const BudgetTime before = at(20'001 * kDayS - 1);
  const BudgetTime after = at(20'001 * kDayS + 1);
  ASSERT_TRUE(bench.bid(1, 100, before));
  ASSERT_TRUE(bench.bid(2, 100, after));
  EXPECT_EQ(bench.grant.settle(1, {70}), SettleOutcome::kSettled);
  expect_balance(bench.today(before), 70, 0, 30);
  expect_balance(bench.today(after), 0, 100, 0);
}

TEST(LocalGrant, DaysBeforeNineteenSeventyAreDaysToo) {
  EXPECT_EQ(at(-1).day(), -1);
  EXPECT_EQ(at(-kDayS).day(), -1);
  EXPECT_EQ(at(-kDayS - 1).day(), -2);
  EXPECT_EQ(at(0).day(), 0);
}

TEST(LocalGrant, ALifetimeBudgetBoundsAllDays) {
  Bench bench(100, 150);
  EXPECT_TRUE(bench.bid(1, 100));
  const BudgetTime tomorrow = at(kNoon + kDayS);
  EXPECT_FALSE(bench.bid(2, 51, tomorrow));
  EXPECT_TRUE(bench.bid(3, 50, tomorrow));
  expect_balance(bench.today(tomorrow), 0, 50, 0);
}

TEST(LocalGrant, ABudgetThatIsCutStopsAtOnce) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.settle(1, {60}), SettleOutcome::kSettled);
  bench.refresh(50);
  EXPECT_FALSE(bench.bid(2, 1));
  expect_balance(bench.today(), 60, 0, -10);
  bench.refresh(70);
  EXPECT_TRUE(bench.bid(3, 10));
}

TEST(LocalGrant, ACampaignThatIsGoneHasNoMoneyAndIsForgottenWhenItsDaysAreOver) {
  Bench bench(100);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.settle(1, {60}), SettleOutcome::kSettled);
  EXPECT_EQ(bench.grant.refresh({}, kNoon), 0U);
  EXPECT_FALSE(bench.bid(2, 1));
  bench.refresh(100);  // It is back: what it spent today is spent.
  expect_balance(bench.today(), 60, 0, 40);
  EXPECT_EQ(bench.grant.refresh({}, kNoon + 2 * kDayS), 0U);
  EXPECT_EQ(bench.grant.counts().accounts, 1U);
  EXPECT_EQ(bench.grant.refresh({}, kNoon + 3 * kDayS), 0U);
  EXPECT_EQ(bench.grant.counts().accounts, 0U);
  EXPECT_EQ(bench.grant.try_reserve(kCampaign, {1}, at(kNoon)).error(),
            ReserveErrc::kUnknownCampaign);
}

TEST(LocalGrant, CampaignsBeyondTheTableAreCountedAndDoNotBid) {
  LocalGrant grant({.accounts = 4, .open_bids = 64});
  std::vector<CampaignBudget> budgets;
  for (int64_t id = 1; id <= 6; ++id) {
    budgets.push_back({id, {100}, {}});
  }
  EXPECT_EQ(grant.refresh(budgets, kNoon), 2U);
  EXPECT_EQ(grant.try_reserve(6, {1}, at(kNoon)).error(), ReserveErrc::kUnknownCampaign);
  // Those that go make room.
  EXPECT_EQ(grant.refresh(std::span(budgets).last(4), kNoon), 0U);
  EXPECT_TRUE(grant.try_reserve(6, {1}, at(kNoon)));
}

TEST(LocalGrant, AFullTableOfOpenBidsRefusesAndKeepsNothing) {
  LocalGrant grant({.accounts = 4, .open_bids = 64});  // One a stripe.
  const CampaignBudget budget{kCampaign, {1'000'000}, {}};
  EXPECT_EQ(grant.refresh({&budget, 1}, kNoon), 0U);
  int refused = 0;
  for (uint64_t key = 0; key < 1'000; ++key) {
    auto reservation = grant.try_reserve(kCampaign, {1}, at(kNoon));
    ASSERT_TRUE(reservation);
    refused += reservation->submit(key, at(kNoon).now) ? 0 : 1;
  }
  EXPECT_EQ(grant.counts().open_bids, static_cast<size_t>(1'000 - refused));
  EXPECT_LE(grant.counts().open_bids, 64U);
  EXPECT_EQ(grant.balance(kCampaign, at(kNoon)).open.nanos, 1'000 - refused);
  // Those whose time is over make room, and their money comes back.
  auto late = grant.try_reserve(kCampaign, {1}, at(kNoon, 200));
  EXPECT_TRUE(late->submit(5'000, at(kNoon, 200).now));
  EXPECT_EQ(grant.balance(kCampaign, at(kNoon)).open.nanos, 1'000 - refused);
  EXPECT_EQ(grant.counts().expired, 1U);
}

TEST(LocalGrant, SpendSurvivesARestartThatHandsItOver) {
  Bench bench(100, 500);
  ASSERT_TRUE(bench.bid(1, 60));
  EXPECT_EQ(bench.grant.settle(1, {60}), SettleOutcome::kSettled);
  const auto spent = bench.grant.spent();
  Bench next(100, 500);
  next.grant.restore(spent);
  expect_balance(next.today(), 60, 0, 40);
  EXPECT_EQ(next.grant.spent().front().ever.nanos, 60);
}

}  // namespace
}  // namespace spillway::bidder
