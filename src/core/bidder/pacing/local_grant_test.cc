#include "bidder/pacing/local_grant.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/rng.h"
#include "base/time.h"
#include "bidder/pacing/grant.h"

namespace spillway::bidder {
namespace {

using base::Money;
using std::chrono::seconds;

constexpr int64_t kCampaign = 7;
constexpr int64_t kDayS = 86'400;
constexpr int64_t kNoon = 20'000 * kDayS + kDayS / 2;

constexpr BudgetTime at(int64_t local_s, int64_t now_s = 0) {
  return {base::Instant(seconds(now_s)), local_s};
}

struct Bench {
  explicit Bench(int64_t daily, int64_t lifetime = 0) : grant({.accounts = 16, .open_bids = 4096}) {
    refresh(daily, lifetime);
  }

  void refresh(int64_t daily, int64_t lifetime = 0, int64_t now_unix_s = kNoon) {
    const CampaignBudget budget{kCampaign, {daily}, {lifetime}};
    EXPECT_EQ(grant.refresh({&budget, 1}, now_unix_s), 0U);
  }

  // Reserves and submits; whether it could.
  bool bid(uint64_t key, int64_t amount, const BudgetTime& when = at(kNoon)) {
    auto reservation = grant.try_reserve(kCampaign, {amount}, when);
    return reservation && reservation->submit(key, when.now);
  }

  [[nodiscard]] Balance today(const BudgetTime& when = at(kNoon)) const {
    return grant.balance(kCampaign, when);
  }

  LocalGrant grant;
};

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

// The same money kept by hand: a campaign's days, each a pair of numbers.
struct ByHand {
  struct Bid {
    uint64_t key;
    int64_t day;
    int64_t amount;
    int64_t until_s;
  };

  int64_t spent[8] = {};
  int64_t open[8] = {};
  std::vector<Bid> bids;
};

TEST(LocalGrant, BudgetIsSpentPlusOpenPlusAvailableAfterEachOfAMillionRandomSteps) {
  constexpr int64_t kDaily = 1'000;
  constexpr int64_t kFirstDay = 20'000;
  Bench bench(kDaily);
  ByHand hand;
  base::Rng rng(5);
  uint64_t next_key = 1;
  int64_t now_s = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    now_s += static_cast<int64_t>(rng.below(2));
    const auto day = std::min<int64_t>(7, i / 125'000);
    const BudgetTime when = at((kFirstDay + day) * kDayS + 100, now_s);
    std::erase_if(hand.bids, [&](const ByHand::Bid& bid) {
      const bool over = bid.until_s <= now_s;
      hand.open[bid.day] -= over ? bid.amount : 0;
      return over;
    });
    bench.grant.expire(when.now);
    const uint64_t what = rng.below(8);
    if (what < 4) {
      const int64_t amount = 1 + static_cast<int64_t>(rng.below(120));
      auto reservation = bench.grant.try_reserve(kCampaign, {amount}, when);
      ASSERT_EQ(reservation.has_value(), hand.spent[day] + hand.open[day] + amount <= kDaily);
      if (reservation && what < 3) {
        ASSERT_TRUE(reservation->submit(next_key, when.now));
        hand.open[day] += amount;
        hand.bids.push_back({next_key++, day, amount, now_s + 120});
      }
    } else if (what < 7 && !hand.bids.empty()) {
      const size_t which = rng.below(hand.bids.size());
      const ByHand::Bid bid = hand.bids[which];
      hand.bids.erase(hand.bids.begin() + static_cast<std::ptrdiff_t>(which));
      hand.open[bid.day] -= bid.amount;
      if (what == 4 && rng.below(20) == 0) {
        const int64_t paid = static_cast<int64_t>(rng.below(static_cast<uint64_t>(bid.amount) + 1));
        ASSERT_EQ(bench.grant.settle(bid.key, {paid}), SettleOutcome::kSettled);
        hand.spent[bid.day] += paid;
      } else {
        ASSERT_EQ(bench.grant.lose(bid.key), SettleOutcome::kSettled);
      }
      ASSERT_EQ(bench.grant.settle(bid.key, {1}) == SettleOutcome::kSettled, false);
    } else if (rng.below(100) == 0) {
      bench.refresh(kDaily, 0, when.local_s);
    }
    // Late wins of the line above may have spent more: take what the grant says, within bounds.
    const Balance balance = bench.today(when);
    ASSERT_EQ(balance.open.nanos, hand.open[day]);
    ASSERT_GE(balance.spent.nanos, hand.spent[day]);
    hand.spent[day] = balance.spent.nanos;
    ASSERT_EQ(balance.budget.nanos, kDaily);
    ASSERT_EQ(balance.spent.nanos + balance.open.nanos + balance.available.nanos, kDaily);
    ASSERT_GE(balance.available.nanos, 0);
  }
}

TEST(LocalGrant, WorkersTogetherNeverSpendMoreThanTheBudget) {
  constexpr int kThreads = 4;
  constexpr int64_t kDaily = 100'000;
  Bench bench(kDaily);
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&bench, thread] {
      base::Rng rng(thread);
      for (uint64_t i = 0; i < 50'000; ++i) {
        const uint64_t key = thread << 32 | i;
        auto reservation = bench.grant.try_reserve(
            kCampaign, {1 + static_cast<int64_t>(rng.below(50))}, at(kNoon));
        if (!reservation || rng.below(4) == 0) {
          continue;
        }
        const Money amount = reservation->amount();
        if (!reservation->submit(key, at(kNoon).now)) {
          continue;
        }
        if (rng.below(10) == 0) {
          bench.grant.settle(key, amount);
        } else {
          bench.grant.lose(key);
        }
        const Balance balance = bench.today();
        EXPECT_EQ(balance.budget.nanos,
                  balance.spent.nanos + balance.open.nanos + balance.available.nanos);
        EXPECT_GE(balance.available.nanos, 0);
      }
    });
  }
  threads.clear();
  const Balance balance = bench.today();
  EXPECT_EQ(balance.open.nanos, 0);
  EXPECT_LE(balance.spent.nanos, kDaily);
  EXPECT_GT(balance.spent.nanos, kDaily - 50);
  EXPECT_EQ(bench.grant.counts().open_bids, 0U);
}

TEST(LocalGrant, MoneyIsNotLostWhileCampaignsComeAndGoUnderWorkers) {
  constexpr int64_t kDaily = 1'000'000;
  LocalGrant grant({.accounts = 8, .open_bids = 4096});
  std::vector<CampaignBudget> budgets;
  for (int64_t id = 1; id <= 8; ++id) {
    budgets.push_back({id, {kDaily}, {}});
  }
  EXPECT_EQ(grant.refresh(budgets, kNoon), 0U);
  std::atomic<int64_t> paid{0};
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      base::Rng rng(thread);
      for (uint64_t i = 0; i < 30'000; ++i) {
        const uint64_t key = thread << 32 | i;
        const auto campaign = static_cast<int64_t>(1 + rng.below(8));
        auto held = grant.try_reserve(campaign, {10}, at(kNoon));
        if (held && held->submit(key, at(kNoon).now) && rng.below(3) == 0) {
          paid += grant.settle(key, {4}) == SettleOutcome::kSettled ? 4 : 0;
        }
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(grant.refresh(std::span(budgets).first(4), kNoon), 0U);
    EXPECT_EQ(grant.refresh(budgets, kNoon), 0U);
    grant.expire(at(0, 60 + i).now);
  }
  threads.clear();
  grant.expire(at(0, 10'000).now, 1'000'000);
  int64_t spent = 0;
  for (int64_t id = 1; id <= 8; ++id) {
    const Balance balance = grant.balance(id, at(kNoon));
    EXPECT_EQ(balance.open.nanos, 0);
    spent += balance.spent.nanos;
  }
  EXPECT_EQ(spent, paid.load());
}

}  // namespace
}  // namespace spillway::bidder
