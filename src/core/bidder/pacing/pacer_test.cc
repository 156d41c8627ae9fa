#include "bidder/pacing/pacer.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/rng.h"
#include "base/time.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/local_grant.h"

namespace spillway::bidder {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kCampaign = 3;
constexpr int64_t kDayS = 86'400;
constexpr int64_t kMidnight = 20'000 * kDayS;

/// A day of chances for one campaign: so many a second, the traffic of each hour in proportion; one
/// bid in ten wins, its notice comes after two seconds, and it costs half its bid.
struct VirtualDay {
  int64_t daily = 1'000'000'000;
  Pacing pacing = Pacing::kEven;
  double chances_per_s = 5;
  std::array<double, 24> traffic = {};
  int64_t begin_s = 0;
  size_t workers = 1;
};

class Simulation {
 public:
  explicit Simulation(const VirtualDay& day, uint64_t seed)
      : day_(day), amount_(day.daily / 2'000), rng_(seed), pacers_(day.workers, Pacer({})) {
    const CampaignBudget budget{kCampaign, {day.daily}, {}};
    EXPECT_EQ(grant_.refresh({&budget, 1}, kMidnight), 0U);
    const PacedCampaign paced{kCampaign, day.pacing};
    for (Pacer& pacer : pacers_) {
      pacer.refresh({&paced, 1});
    }
  }

  /// Share of the budget spent at the end of each hour.
  std::vector<double> run() {
    constexpr int64_t kStepMs = 100;
    constexpr int64_t kHourMs = 3'600'000;
    std::vector<double> spent_by_hour;
    for (int64_t ms = day_.begin_s * 1000; ms < kDayS * 1000; ms += kStepMs) {
      const BudgetTime at{base::Instant(milliseconds(ms)), kMidnight + ms / 1000};
      take_notices(ms);
      const double rate = chances_per_s(static_cast<size_t>(ms / kHourMs));
      if (rng_.uniform() < rate * kStepMs / 1000) {
        chance(ms, at);
      }
      if ((ms + kStepMs) % kHourMs == 0) {
        const Balance balance = grant_.balance(kCampaign, at);
        EXPECT_LE(balance.spent.nanos + balance.open.nanos, day_.daily);
        spent_by_hour.push_back(static_cast<double>(balance.spent.nanos) /
                                static_cast<double>(day_.daily));
      }
    }
    return spent_by_hour;
  }

 private:
  [[nodiscard]] double chances_per_s(size_t hour) const {
    const double sum = std::accumulate(day_.traffic.begin(), day_.traffic.end(), 0.0);
    return sum > 0 ? day_.chances_per_s * day_.traffic[hour] * 24 / sum : day_.chances_per_s;
  }

  void take_notices(int64_t ms) {
    for (; !notices_.empty() && notices_.front().first <= ms; notices_.pop()) {
      if (rng_.below(10) == 0) {
        grant_.settle(notices_.front().second, {amount_ / 2});
      } else {
        grant_.lose(notices_.front().second);
      }
    }
  }

  void chance(int64_t ms, const BudgetTime& at) {
    Pacer& pacer = pacers_[rng_.below(pacers_.size())];
    if (pacer.admit(kCampaign, grant_, at, rng_.next()) != PaceVerdict::kBid) {
      return;
    }
    auto held = grant_.try_reserve(kCampaign, {amount_}, at);
    if (held && held->submit(++key_, at.now)) {
      notices_.emplace(ms + 2'000, key_);
    }
  }

  VirtualDay day_;
  int64_t amount_;
  base::Rng rng_;
  LocalGrant grant_{{.accounts = 4, .open_bids = 65'536}};
  std::vector<Pacer> pacers_;
  std::queue<std::pair<int64_t, uint64_t>> notices_;
  uint64_t key_ = 0;
};

std::vector<double> spent_by_hour(const VirtualDay& day, uint64_t seed) {
  return Simulation(day, seed).run();
}

TEST(DayCurve, RunsFromNothingToAllAndNeverFalls) {
  std::array<double, 24> some{};
  some[3] = 2;
  some[20] = 1;
  for (const DayCurve& curve :
       {DayCurve::even(), DayCurve::front_loaded(), DayCurve::of_weights(some)}) {
    EXPECT_EQ(curve.spent_by(0), 0);
    EXPECT_NEAR(curve.spent_by(1), 1, 1e-12);
    double before = 0;
    for (int i = -100; i < 1100; ++i) {
      const double x = i / 1000.0;
      EXPECT_GE(curve.spent_by(x), before);
      before = curve.spent_by(x);
    }
  }
  EXPECT_NEAR(DayCurve::even().spent_by(0.3), 0.3, 1e-12);
  EXPECT_NEAR(DayCurve::front_loaded().spent_by(0.5), 0.625, 1e-12);
}

TEST(Pacer, EvenPacingSpendsTheBudgetByTheHour) {
  const VirtualDay day;
  const auto spent = spent_by_hour(day, 1);
  for (size_t hour = 0; hour < 24; ++hour) {
    EXPECT_NEAR(spent[hour], static_cast<double>(hour + 1) / 24, 0.03) << hour;
  }
  EXPECT_GT(spent.back(), 0.97);
}

TEST(Pacer, EvenPacingHoldsWhileTrafficSwings) {
  VirtualDay day;
  for (size_t hour = 0; hour < 24; ++hour) {
    day.traffic[hour] = 1 + 0.6 * std::sin(static_cast<double>(hour) / 24 * 2 * 3.14159);
  }
  day.chances_per_s = 6;
  const auto spent = spent_by_hour(day, 2);
  for (size_t hour = 0; hour < 24; ++hour) {
    EXPECT_NEAR(spent[hour], static_cast<double>(hour + 1) / 24, 0.04) << hour;
  }
  EXPECT_GT(spent.back(), 0.97);
}

TEST(Pacer, FrontLoadedPacingFollowsItsCurve) {
  VirtualDay day;
  day.pacing = Pacing::kFrontLoaded;
  const auto spent = spent_by_hour(day, 3);
  const DayCurve curve = DayCurve::front_loaded();
  for (size_t hour = 0; hour < 24; ++hour) {
    EXPECT_NEAR(spent[hour], curve.spent_by(static_cast<double>(hour + 1) / 24), 0.03);
  }
}

TEST(Pacer, AsSoonAsPossibleSpendsItAllAtOnceAndNoMore) {
  VirtualDay day;
  day.pacing = Pacing::kAsap;
  const auto spent = spent_by_hour(day, 4);
  EXPECT_GT(spent[5], 0.99);
  EXPECT_LE(spent.back(), 1);
}

TEST(Pacer, ACampaignThatBeginsAtNoonSpreadsItsBudgetOverTheAfternoon) {
  VirtualDay day;
  day.begin_s = kDayS / 2;
  const auto spent = spent_by_hour(day, 5);
  for (size_t hour = 0; hour < 12; ++hour) {
    EXPECT_NEAR(spent[hour], static_cast<double>(hour + 1) / 12, 0.06) << hour;
  }
}

TEST(Pacer, WorkersThatNeverSpeakToEachOtherKeepThePaceTogether) {
  VirtualDay day;
  day.workers = 4;
  const auto spent = spent_by_hour(day, 6);
  for (size_t hour = 0; hour < 24; ++hour) {
    EXPECT_NEAR(spent[hour], static_cast<double>(hour + 1) / 24, 0.03) << hour;
  }
  EXPECT_GT(spent.back(), 0.97);
}

TEST(Pacer, TooLittleTrafficIsTakenWhole) {
  VirtualDay day;
  day.chances_per_s = 0.2;  // Enough for a third of the budget.
  const auto spent = spent_by_hour(day, 7);
  const double possible = 0.2 * kDayS * 0.1 / 4'000;
  EXPECT_NEAR(spent.back(), possible, 0.05);
}

TEST(Pacer, WhatIsAheadOfTheCurveStops) {
  LocalGrant grant({.accounts = 4, .open_bids = 64});
  const CampaignBudget budget{kCampaign, {1'000}, {}};
  ASSERT_EQ(grant.refresh({&budget, 1}, kMidnight), 0U);
  Pacer pacer({});
  const PacedCampaign paced{kCampaign, Pacing::kEven};
  pacer.refresh({&paced, 1});
  const BudgetTime at{base::Instant(milliseconds(1)), kMidnight + 60};
  EXPECT_EQ(grant.charge_unknown(1, kCampaign, {500}, at), SettleOutcome::kLate);
  EXPECT_EQ(pacer.admit(kCampaign, grant, at, 1), PaceVerdict::kAhead);
  EXPECT_EQ(grant.charge_unknown(2, kCampaign, {500}, at), SettleOutcome::kLate);
  const BudgetTime later{at.now + std::chrono::seconds(2), at.local_s + 2};
  EXPECT_EQ(pacer.admit(kCampaign, grant, later, 1), PaceVerdict::kExhausted);
  EXPECT_EQ(pacer.admit(99, grant, later, 1), PaceVerdict::kUnknownCampaign);
}

TEST(Pacer, ACampaignWithoutABudgetIsNotHeldBack) {
  LocalGrant grant({.accounts = 4, .open_bids = 64});
  const CampaignBudget budget{kCampaign, {}, {}};
  ASSERT_EQ(grant.refresh({&budget, 1}, kMidnight), 0U);
  Pacer pacer({});
  const PacedCampaign paced{kCampaign, Pacing::kEven};
  pacer.refresh({&paced, 1});
  for (uint64_t draw = 0; draw < 1'000; ++draw) {
    ASSERT_EQ(pacer.admit(kCampaign, grant, {base::Instant(), kMidnight}, draw), PaceVerdict::kBid);
  }
}

TEST(Pacer, ARefreshKeepsWhatItLearned) {
  LocalGrant grant({.accounts = 4, .open_bids = 64});
  const CampaignBudget budget{kCampaign, {1'000'000}, {}};
  ASSERT_EQ(grant.refresh({&budget, 1}, kMidnight), 0U);
  Pacer pacer({});
  const PacedCampaign paced{kCampaign, Pacing::kEven};
  pacer.refresh({&paced, 1});
  for (int64_t second = 0; second < 30; ++second) {
    (void)pacer.admit(kCampaign, grant,
                      {base::Instant(std::chrono::seconds(second)), kMidnight + second}, 1);
  }
  const double learned = pacer.share(kCampaign);
  EXPECT_EQ(learned, 1);
  pacer.refresh({&paced, 1});
  EXPECT_EQ(pacer.share(kCampaign), learned);
  pacer.refresh({});
  EXPECT_EQ(pacer.share(kCampaign), 0);
}

TEST(PacerSettings, EachBadValueIsNamed) {
  PacerSettings bad;
  bad.period = milliseconds(1);
  bad.memory = milliseconds(1);
  bad.lead_ratio = 0;
  bad.step_ratio = 2;
  bad.least_share = std::numeric_limits<double>::quiet_NaN();
  bad.traffic[4] = -1;
  EXPECT_EQ(validate(bad).size(), 6U);
  EXPECT_TRUE(validate(PacerSettings{}).empty());
}

TEST(LocalGrantSettings, EachBadValueIsNamed) {
  EXPECT_EQ(validate(LocalGrantSettings{.accounts = 0, .open_bids = 1, .open_for = {}}).size(), 3U);
  EXPECT_TRUE(validate(LocalGrantSettings{}).empty());
}

}  // namespace
}  // namespace spillway::bidder
