#pragma once

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/time.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/local_grant.h"

namespace spillway::bidder {

inline constexpr int64_t kCampaign = 7;
inline constexpr int64_t kDayS = 86'400;
inline constexpr int64_t kNoon = 20'000 * kDayS + kDayS / 2;

[[nodiscard]] constexpr BudgetTime at(int64_t local_s, int64_t now_s = 0) {
  return {base::Instant(std::chrono::seconds(now_s)), local_s};
}

/// A grant with one campaign.
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

}  // namespace spillway::bidder
