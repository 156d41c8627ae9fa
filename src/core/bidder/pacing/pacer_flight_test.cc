// Lifetime budgets over flights of several days, and catalogs that change meanwhile.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"

namespace spillway::bidder {
namespace {

constexpr int64_t kCampaign = 3;
constexpr int64_t kDayS = 86'400;
constexpr int64_t kHourS = 3'600;
constexpr int64_t kMidnight = 20'000 * kDayS;

/// A campaign in virtual time: a chance a second, each bid wins, and costs one part in 20,000 of
/// the lifetime budget.
struct VirtualFlight {
  int64_t daily = 0;
  Pacing pacing = Pacing::kEven;
  int64_t begin_s = 0;                    ///< From midnight,
  int64_t end_s = PacedCampaign::kNoEnd;  ///< and its end.
  int64_t run_s = 0;                      ///< How long it is looked at; 0: to its end.
};

constexpr int64_t kLifetime = 1'000'000'000;

/// Share of the lifetime budget that each day took.
std::vector<double> spent_by_day(const VirtualFlight& flight) {
  LocalGrant grant({.accounts = 4, .open_bids = 64});
  const CampaignBudget budget{kCampaign, {flight.daily}, {kLifetime}};
  EXPECT_EQ(grant.refresh({&budget, 1}, kMidnight), 0U);
  Pacer pacer({});
  const bool has_end = flight.end_s != PacedCampaign::kNoEnd;
  const PacedCampaign paced{.campaign = kCampaign,
                            .pacing = flight.pacing,
                            .begin_local_s = kMidnight + flight.begin_s,
                            .end_local_s = has_end ? kMidnight + flight.end_s : flight.end_s};
  pacer.refresh({&paced, 1});
  base::Rng rng(1);
  constexpr int64_t kCost = kLifetime / 20'000;
  const int64_t until = flight.run_s != 0 ? flight.run_s : flight.end_s;
  std::vector<double> days(static_cast<size_t>((until + kDayS - 1) / kDayS));
  uint64_t key = 0;
  for (int64_t s = flight.begin_s; s < until; ++s) {
    const BudgetTime at{base::Instant(std::chrono::seconds(s)), kMidnight + s};
    if (pacer.admit(kCampaign, grant, at, rng.next()) != PaceVerdict::kBid) {
      continue;
    }
    auto held = grant.try_reserve(kCampaign, {kCost}, at);
    if (held && held->submit(++key, at.now)) {
      EXPECT_EQ(grant.settle(key, {kCost}), SettleOutcome::kSettled);
      days[static_cast<size_t>(s / kDayS)] += static_cast<double>(kCost) / kLifetime;
    }
    (void)grant.expire(at.now);
  }
  return days;
}

double sum(const std::vector<double>& days) {
  return std::accumulate(days.begin(), days.end(), 0.0);
}

TEST(PacerFlight, AnEvenLifetimeBudgetIsSpreadOverTheDaysOfItsFlight) {
  const auto days = spent_by_day({.end_s = 5 * kDayS});
  for (const double day : days) {
    EXPECT_NEAR(day, 0.2, 0.01);
  }
  EXPECT_GT(sum(days), 0.99);
}

TEST(PacerFlight, AFrontLoadedOneToo) {
  const auto days = spent_by_day({.pacing = Pacing::kFrontLoaded, .end_s = 3 * kDayS});
  for (const double day : days) {
    EXPECT_NEAR(day, 1.0 / 3, 0.015);
  }
  EXPECT_GT(sum(days), 0.99);
}

TEST(PacerFlight, DaysThatAreNotWholeGetTheirPart) {
  const auto days = spent_by_day({.begin_s = 18 * kHourS, .end_s = 2 * kDayS + 6 * kHourS});
  EXPECT_NEAR(days[0], 0.25 / 1.5, 0.01);
  EXPECT_NEAR(days[1], 1 / 1.5, 0.015);
  EXPECT_NEAR(days[2], 0.25 / 1.5, 0.01);
  EXPECT_GT(sum(days), 0.99) << "all of it is spent when the flight ends at six";
}

TEST(PacerFlight, ADailyBudgetBelowTheDaysPartHolds) {
  const auto days = spent_by_day({.daily = kLifetime / 10, .end_s = 4 * kDayS});
  for (const double day : days) {
    EXPECT_NEAR(day, 0.1, 0.005);
  }
}

TEST(PacerFlight, ADailyBudgetAboveItDoesNotSpendTheFlightInItsFirstDays) {
  const auto days = spent_by_day({.daily = kLifetime / 2, .end_s = 5 * kDayS});
  for (const double day : days) {
    EXPECT_NEAR(day, 0.2, 0.01);
  }
}

TEST(PacerFlight, WithoutAnEndThereIsNothingToSpreadOver) {
  const auto days = spent_by_day({.run_s = 2 * kDayS});
  EXPECT_GT(days[0], 0.9);
}

TEST(PacerFlight, AsSoonAsPossibleDoesNotWait) {
  const auto days = spent_by_day({.pacing = Pacing::kAsap, .end_s = 5 * kDayS});
  EXPECT_GT(days[0], 0.99);
}

TEST(PacerTable, WhatWasLearnedIsTakenOverWhenMetOrInPieces) {
  LocalGrant grant({.accounts = 4'096, .open_bids = 64});
  std::vector<CampaignBudget> budgets;
  std::vector<PacedCampaign> paced;
  for (int64_t id = 1; id <= 1'000; ++id) {
    budgets.push_back({id, {1'000'000}, {}});
    paced.push_back({.campaign = id});
  }
  ASSERT_EQ(grant.refresh(budgets, kMidnight), 0U);
  Pacer pacer({});
  pacer.refresh(paced);
  for (int64_t second = 0; second < 30; ++second) {
    for (const auto& campaign : paced) {
      (void)pacer.admit(campaign.campaign, grant,
                        {base::Instant(std::chrono::seconds(second)), kMidnight + second}, 1);
    }
  }
  ASSERT_EQ(pacer.share(7), 1);
  // Others come before them: places move.
  std::vector<PacedCampaign> more{{.campaign = 5'000}};
  more.insert(more.end(), paced.begin(), paced.end() - 1);
  auto table = std::make_shared<PacerTable>(more);
  const std::weak_ptr<PacerTable> first = table;
  pacer.take(std::move(table));
  EXPECT_EQ(pacer.share(7), 1) << "met";
  EXPECT_FALSE(pacer.carry_over(400));
  EXPECT_FALSE(pacer.carry_over(400));
  EXPECT_TRUE(pacer.carry_over(400));
  for (int64_t id = 1; id < 1'000; ++id) {
    ASSERT_EQ(pacer.share(id), 1) << id;
  }
  EXPECT_EQ(pacer.share(1'000), 0) << "gone";
  EXPECT_LT(pacer.share(5'000), 1) << "new";
  // A third one before the second was taken over: nothing is lost.
  pacer.take(std::make_shared<PacerTable>(paced));
  pacer.take(std::make_shared<PacerTable>(paced));
  EXPECT_TRUE(first.expired()) << "nobody holds what nothing is left in";
  EXPECT_EQ(pacer.share(999), 1);
}

}  // namespace
}  // namespace spillway::bidder
