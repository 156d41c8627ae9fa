#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/rng.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/one_campaign_test.h"

namespace spillway::bidder {
namespace {

using base::Money;

/// Random steps on a grant, and the same money kept by hand beside it.
class ByHand {
 public:
  static constexpr int64_t kDaily = 1'000;
  static constexpr size_t kDays = 8;

  /// Goes to that day; now and then some seconds later: bids whose time is over are lost.
  void go_to(size_t day) {
    day_ = day;
    if (rng_.below(32) != 0) {
      return;
    }
    now_s_ += static_cast<int64_t>(rng_.below(32));
    std::erase_if(bids_, [this](const Bid& bid) {
      const bool over = bid.until_s <= now_s_;
      open_[bid.day] -= over ? bid.amount : 0;
      return over;
    });
    bench_.grant.expire(when().now);
  }

  void step() {
    const uint64_t what = rng_.below(8);
    if (what < 4) {
      reserve(what < 3);
    } else if (what < 7 && !bids_.empty()) {
      settle(what == 4);
    } else if (rng_.below(100) == 0) {
      bench_.refresh(kDaily, 0, when().local_s);
    }
  }

  void check() const {
    const Balance balance = bench_.today(when());
    ASSERT_EQ(balance.open.nanos, open_[day_]);
    ASSERT_EQ(balance.spent.nanos, spent_[day_]);
    ASSERT_EQ(balance.budget.nanos, kDaily);
    ASSERT_EQ(balance.available.nanos, kDaily - spent_[day_] - open_[day_]);
    ASSERT_GE(balance.available.nanos, 0);
  }

 private:
  struct Bid {
    uint64_t key;
    size_t day;
    int64_t amount;
    int64_t until_s;
  };

  [[nodiscard]] BudgetTime when() const {
    return at((20'000 + static_cast<int64_t>(day_)) * kDayS + 100, now_s_);
  }

  [[nodiscard]] int64_t up_to(int64_t most) {
    return static_cast<int64_t>(rng_.below(static_cast<uint64_t>(most) + 1));
  }

  // Reserves; sends the bid, or drops the reservation on the way.
  void reserve(bool send) {
    const int64_t amount = 1 + up_to(119);
    auto held = bench_.grant.try_reserve(kCampaign, {amount}, when());
    ASSERT_EQ(held.has_value(), spent_[day_] + open_[day_] + amount <= kDaily);
    if (held && send) {
      ASSERT_TRUE(held->submit(next_key_, when().now));
      open_[day_] += amount;
      bids_.push_back({next_key_++, day_, amount, now_s_ + 120});
    }
  }

  // A notice of some open bid, and a second one, which moves nothing or, after a loss, is late.
  void settle(bool won) {
    const size_t which = rng_.below(bids_.size());
    const Bid bid = bids_[which];
    bids_.erase(bids_.begin() + static_cast<std::ptrdiff_t>(which));
    open_[bid.day] -= bid.amount;
    if (won && rng_.below(20) == 0) {
      const int64_t paid = up_to(bid.amount);
      ASSERT_EQ(bench_.grant.settle(bid.key, {paid}), SettleOutcome::kSettled);
      spent_[bid.day] += paid;
      ASSERT_EQ(bench_.grant.settle(bid.key, {paid}), SettleOutcome::kDuplicate);
      return;
    }
    ASSERT_EQ(bench_.grant.lose(bid.key), SettleOutcome::kSettled);
    if (rng_.below(1'000) == 0) {
      const int64_t left = kDaily - spent_[bid.day] - open_[bid.day];
      ASSERT_EQ(bench_.grant.settle(bid.key, {bid.amount}), SettleOutcome::kLate);
      spent_[bid.day] += std::min(left, bid.amount);
    }
  }

  Bench bench_{kDaily};
  base::Rng rng_{5};
  size_t day_ = 0;
  int64_t now_s_ = 0;
  uint64_t next_key_ = 1;
  int64_t spent_[kDays] = {};
  int64_t open_[kDays] = {};
  std::vector<Bid> bids_;
};

TEST(LocalGrant, BudgetIsSpentPlusOpenPlusAvailableAfterEachOfAMillionRandomSteps) {
  ByHand hand;
  for (size_t i = 0; i < 1'000'000 && !testing::Test::HasFatalFailure(); ++i) {
    hand.go_to(i / 125'000);
    hand.step();
    hand.check();
  }
}

// Runs `work(thread)` on so many threads; ends with them.
template <typename Work>
void run_threads(uint64_t count, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (uint64_t thread = 0; thread < count; ++thread) {
    threads.emplace_back([&work, thread] { work(thread); });
  }
}

void expect_whole(const Balance& balance) {
  EXPECT_EQ(balance.budget.nanos,
            balance.spent.nanos + balance.open.nanos + balance.available.nanos);
  EXPECT_GE(balance.available.nanos, 0);
}

// Bids, a tenth of which win at their price; some are dropped on the way.
void bid_and_settle(Bench& bench, uint64_t thread) {
  base::Rng rng(thread);
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t key = thread << 32 | i;
    const Money amount{1 + static_cast<int64_t>(rng.below(50))};
    auto held = bench.grant.try_reserve(kCampaign, amount, at(kNoon));
    if (!held || rng.below(4) == 0 || !held->submit(key, at(kNoon).now)) {
      continue;
    }
    if (rng.below(10) == 0) {
      bench.grant.settle(key, amount);
    } else {
      bench.grant.lose(key);
    }
    expect_whole(bench.today());
  }
}

TEST(LocalGrant, WorkersTogetherNeverSpendMoreThanTheBudget) {
  constexpr int64_t kDaily = 40'000;
  Bench bench(kDaily);
  run_threads(4, [&bench](uint64_t thread) { bid_and_settle(bench, thread); });
  const Balance balance = bench.today();
  EXPECT_EQ(balance.open.nanos, 0);
  EXPECT_LE(balance.spent.nanos, kDaily);
  EXPECT_GT(balance.spent.nanos, kDaily - 50);
  EXPECT_EQ(bench.grant.counts().open_bids, 0U);
}

// Bids on eight campaigns, a third of which win; the rest hears nothing. What was charged.
int64_t bid_on_all(LocalGrant& grant, uint64_t thread) {
  base::Rng rng(thread);
  int64_t paid = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t key = thread << 32 | i;
    const auto campaign = static_cast<int64_t>(1 + rng.below(8));
    auto held = grant.try_reserve(campaign, {10}, at(kNoon));
    if (held && held->submit(key, at(kNoon).now) && rng.below(3) == 0) {
      paid += grant.settle(key, {4}) == SettleOutcome::kSettled ? 4 : 0;
    }
  }
  return paid;
}

// Half of the campaigns leave and come back, over and over, while bids expire.
void refresh_and_expire(LocalGrant& grant, std::span<const CampaignBudget> budgets) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(grant.refresh(budgets.first(4), kNoon), 0U);
    EXPECT_EQ(grant.refresh(budgets, kNoon), 0U);
    grant.expire(at(0, 60 + i).now);
  }
}

TEST(LocalGrant, MoneyIsNotLostWhileCampaignsComeAndGoUnderWorkers) {
  LocalGrant grant({.accounts = 8, .open_bids = 4096});
  std::vector<CampaignBudget> budgets;
  for (int64_t id = 1; id <= 8; ++id) {
    budgets.push_back({id, {1'000'000}, {}});
  }
  EXPECT_EQ(grant.refresh(budgets, kNoon), 0U);
  std::atomic<int64_t> paid{0};
  run_threads(4, [&](uint64_t thread) {
    if (thread == 0) {
      refresh_and_expire(grant, budgets);
    } else {
      paid += bid_on_all(grant, thread);
    }
  });
  grant.expire(at(0, 10'000).now, 1'000'000);
  int64_t spent = 0;
  for (const CampaignBudget& budget : budgets) {
    const Balance balance = grant.balance(budget.campaign, at(kNoon));
    EXPECT_EQ(balance.open.nanos, 0);
    spent += balance.spent.nanos;
  }
  EXPECT_EQ(spent, paid.load());
}

}  // namespace
}  // namespace spillway::bidder
