#include "bidder/caps/table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {
namespace {

constexpr int64_t kNow = 1'767'571'200;  // a Monday, 00:00 UTC

UserHash user_of(uint64_t number) { return hash_user("test", std::to_string(number)).value(); }

CapLimit limit_of(uint32_t most, int64_t id = 1, CapWindow window = CapWindow::kDay,
                  CapScope scope = CapScope::kCampaign) {
  return {.key = {.scope = scope, .window = window, .id = id}, .most = most};
}

std::vector<CapKey> keys_of(const std::vector<CapLimit>& limits) {
  std::vector<CapKey> keys;
  for (const CapLimit& limit : limits) {
    keys.push_back(limit.key);
  }
  return keys;
}

class CapTableTest : public ::testing::Test {
 protected:
  CapTable table_{{.bytes = uint64_t{1} << 22, .pending_s = 60}};
  UserHash user_ = user_of(1);
};

// Defect 3.3.4 of the reference: two imps, or requests in flight, take the same last place.
TEST_F(CapTableTest, TwoImpsOfARequestCannotBothTakeTheLastPlace) {
  const std::vector<CapLimit> limits{limit_of(1)};
  ASSERT_TRUE(table_.reserve(user_, limits, {}, kNow).has_value());
  EXPECT_FALSE(table_.allows(user_, limits, {}, kNow));
  EXPECT_EQ(table_.reserve(user_, limits, {}, kNow).error(), CapRefusal::kCapped);
  EXPECT_TRUE(table_.reserve(user_of(2), limits, {}, kNow).has_value()) << "another user";
}

TEST_F(CapTableTest, ABidTakesAPlaceUnderAllOfItsLimitsOrUnderNone) {
  const std::vector<CapLimit> wide{limit_of(5), limit_of(1, 9, CapWindow::kHour)};
  ASSERT_TRUE(table_.reserve(user_, wide, {}, kNow).has_value());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(table_.reserve(user_, wide, {}, kNow).has_value());
  }
  EXPECT_EQ(table_.view(user_, wide[0].key, kNow).pending, 1U);
}

TEST_F(CapTableTest, EachLimitIsAllowedByItselfAsAllWouldBeTogether) {
  std::vector<CapLimit> limits;
  for (int64_t id = 1; id <= 100; ++id) {
    limits.push_back(limit_of(1, id));
  }
  std::vector<CapCounts> known(limits.size());
  known[70].add(bucket_at(limits[70].key, kNow), 1);
  ASSERT_TRUE(table_.reserve(user_, std::vector{limits[40]}, {}, kNow).has_value());
  std::vector<uint8_t> allowed(limits.size());
  table_.allow_each(user_, limits, known, kNow, allowed);
  for (size_t i = 0; i < limits.size(); ++i) {
    EXPECT_EQ(allowed[i] != 0, i != 40 && i != 70) << i;
    EXPECT_EQ(allowed[i] != 0,
              table_.allows(user_, std::vector{limits[i]}, std::vector{known[i]}, kNow))
        << i;
  }
  table_.allow_each(user_, limits, {}, kNow, allowed);
  EXPECT_NE(allowed[70], 0) << "nobody said so";
}

TEST_F(CapTableTest, AWinTurnsPendingIntoShownAndALossReleases) {
  const std::vector<CapLimit> limits{limit_of(2), limit_of(9, 4, CapWindow::kLifetime)};
  const std::vector<CapKey> keys = keys_of(limits);
  const CapHold first = table_.reserve(user_, limits, {}, kNow).value();
  const CapHold second = table_.reserve(user_, limits, {}, kNow + 1).value();
  EXPECT_TRUE(table_.win(user_, keys, first, kNow + 2));
  table_.release(user_, keys, second, kNow + 3);
  for (const CapKey& key : keys) {
    EXPECT_EQ(table_.view(user_, key, kNow + 3).shown, 1U);
    EXPECT_EQ(table_.view(user_, key, kNow + 3).pending, 0U);
  }
  EXPECT_TRUE(table_.allows(user_, limits, {}, kNow + 3));
}

TEST_F(CapTableTest, PlacesWithoutANoticeExpireAfterTheirTimeAndAQuarterAtMost) {
  const std::vector<CapLimit> limits{limit_of(1)};
  for (int64_t at = kNow; at < kNow + 100; at += 7) {
    CapTable table({.bytes = uint64_t{1} << 20, .pending_s = 60});
    ASSERT_TRUE(table.reserve(user_, limits, {}, at).has_value());
    EXPECT_FALSE(table.allows(user_, limits, {}, at + 59));
    EXPECT_TRUE(table.allows(user_, limits, {}, at + 75));
    EXPECT_EQ(table.counters().expired, 1U);
  }
}

TEST_F(CapTableTest, AWinAfterTheExpiryIsShownAllTheSameAndTakesNobodyElsesPlace) {
  const std::vector<CapLimit> limits{limit_of(3)};
  const std::vector<CapKey> keys = keys_of(limits);
  const CapHold old = table_.reserve(user_, limits, {}, kNow).value();
  const CapHold young = table_.reserve(user_, limits, {}, kNow + 100).value();
  EXPECT_FALSE(table_.win(user_, keys, old, kNow + 100));
  EXPECT_EQ(table_.view(user_, keys[0], kNow + 100).pending, 1U);
  EXPECT_EQ(table_.view(user_, keys[0], kNow + 100).shown, 1U);
  EXPECT_TRUE(table_.win(user_, keys, young, kNow + 101));
  EXPECT_EQ(table_.counters().won_late, 1U);
}

TEST_F(CapTableTest, AReleaseOfAPlaceThatExpiredFreesNoOther) {
  const std::vector<CapLimit> limits{limit_of(1)};
  const std::vector<CapKey> keys = keys_of(limits);
  const CapHold old = table_.reserve(user_, limits, {}, kNow).value();
  ASSERT_TRUE(table_.reserve(user_, limits, {}, kNow + 100).has_value());
  table_.release(user_, keys, old, kNow + 100);
  table_.release(user_, keys, old, kNow + 100);
  EXPECT_FALSE(table_.allows(user_, limits, {}, kNow + 101));
}

// Defect 3.3.8: what a cap of 0 means.
TEST_F(CapTableTest, ACapOfZeroShowsNothing) {
  const std::vector<CapLimit> limits{limit_of(0)};
  EXPECT_FALSE(table_.allows(user_, limits, {}, kNow));
  EXPECT_EQ(table_.reserve(user_, limits, {}, kNow).error(), CapRefusal::kCapped);
}

TEST_F(CapTableTest, WhatRedisKnowsCountsAndIsNeverAddedToWhatWasSeenHere) {
  const std::vector<CapLimit> limits{limit_of(3)};
  const std::vector<CapKey> keys = keys_of(limits);
  const uint32_t day = bucket_at(keys[0], kNow);
  std::array<CapCounts, 1> known{};
  known[0].add(day, 1);  // another instance's
  table_.release(user_, keys, table_.reserve(user_, limits, known, kNow).value(), kNow);
  EXPECT_EQ(table_.view(user_, keys[0], kNow).shown, 1U);
  const CapHold hold = table_.reserve(user_, limits, known, kNow).value();
  EXPECT_TRUE(table_.win(user_, keys, hold, kNow));
  EXPECT_EQ(table_.view(user_, keys[0], kNow).shown, 2U);
  table_.learn(user_, keys, known, kNow);  // a replica that is behind
  EXPECT_EQ(table_.view(user_, keys[0], kNow).shown, 2U);
  known[0].add(day, 1);  // our own win comes back to us
  table_.learn(user_, keys, known, kNow);
  EXPECT_EQ(table_.view(user_, keys[0], kNow).shown, 2U);
}

// Defect 3.3.3: counters that never roll.
TEST_F(CapTableTest, AnHourThatWasFullAtItsEndIsFreeAtTheNextBegin) {
  const std::vector<CapLimit> limits{limit_of(1, 1, CapWindow::kHour)};
  const int64_t late = kNow + 3'599;
  const CapHold hold = table_.reserve(user_, limits, {}, late).value();
  EXPECT_TRUE(table_.win(user_, keys_of(limits), hold, late));
  EXPECT_FALSE(table_.allows(user_, limits, {}, late));
  EXPECT_TRUE(table_.allows(user_, limits, {}, late + 1));
}

TEST_F(CapTableTest, ASlidingHourIsFullForAllOfItAndFreeAPartLater) {
  const std::vector<CapLimit> limits{
      {.key = {.window = CapWindow::kHour, .kind = CapKind::kSliding, .id = 1}, .most = 1}};
  const int64_t late = kNow + 299;  // the last second of a part of five minutes
  const CapHold hold = table_.reserve(user_, limits, {}, late).value();
  EXPECT_TRUE(table_.win(user_, keys_of(limits), hold, late));
  for (const int64_t full : {late, late + 3'599, kNow + 3'899}) {
    EXPECT_FALSE(table_.allows(user_, limits, {}, full)) << full - kNow;
    EXPECT_FALSE(table_.reserve(user_, limits, {}, full).has_value()) << full - kNow;
  }
  EXPECT_TRUE(table_.allows(user_, limits, {}, kNow + 3'900));
  EXPECT_TRUE(table_.reserve(user_, limits, {}, kNow + 3'900).has_value());
}

TEST_F(CapTableTest, MemoryStaysWhatItIsAndWhatIsForgottenIsCounted) {
  CapTable table({.bytes = uint64_t{1} << 20, .pending_s = 60});
  constexpr uint64_t kUsers = 100'000;  // six times what there is room for
  const std::vector<CapLimit> limits{limit_of(3)};
  uint64_t full = 0;
  for (uint64_t i = 0; i < kUsers; ++i) {
    const int64_t at = kNow + static_cast<int64_t>(i / 100);
    const auto hold = table.reserve(user_of(i), limits, {}, at);
    full += hold.has_value() ? 0 : 1;
    if (hold && i % 2 == 0) {
      (void)table.win(user_of(i), keys_of(limits), *hold, at);
    }
  }
  const CapTableCounters counters = table.counters();
  EXPECT_LE(counters.counters * 60, uint64_t{1} << 20);
  EXPECT_GE(counters.counters + counters.evicted + full, kUsers);
  EXPECT_GT(counters.evicted, kUsers / 2);
  EXPECT_EQ(full, counters.full);
}

TEST_F(CapTableTest, ACounterThatHoldsAPlaceIsNeverForgotten) {
  CapTable table({.bytes = uint64_t{1} << 20, .pending_s = 3'600});
  const std::vector<CapLimit> limits{limit_of(3)};
  std::vector<uint64_t> held;
  for (uint64_t i = 0; i < 50'000; ++i) {
    if (table.reserve(user_of(i), limits, {}, kNow).has_value()) {
      held.push_back(i);
    }
  }
  EXPECT_EQ(table.counters().evicted, 0U);
  EXPECT_GT(table.counters().full, 0U);
  for (const uint64_t user : held) {
    ASSERT_EQ(table.view(user_of(user), limits[0].key, kNow).pending, 1U);
  }
}

TEST_F(CapTableTest, AClockThatStepsBackNeitherFreesNorExpires) {
  const std::vector<CapLimit> limits{limit_of(1)};
  const CapHold hold = table_.reserve(user_, limits, {}, kNow).value();
  EXPECT_FALSE(table_.allows(user_, limits, {}, kNow - 500'000));
  EXPECT_TRUE(table_.win(user_, keys_of(limits), hold, kNow));
  EXPECT_FALSE(table_.allows(user_, limits, {}, kNow - 500'000));
}

// The bound of N instances on the same users, in the worst order: each bids before any learns.
TEST_F(CapTableTest, InstancesThatDoNotLearnFromEachOtherOvershootByTheStatedBoundAndNoMore) {
  constexpr size_t kInstances = 3;
  constexpr uint32_t kMost = 3;
  const std::vector<CapLimit> limits{limit_of(kMost)};
  const std::vector<CapKey> keys = keys_of(limits);
  std::deque<CapTable> instances;
  for (size_t i = 0; i < kInstances; ++i) {
    instances.emplace_back(CapTableSettings{.bytes = uint64_t{1} << 20, .pending_s = 60});
  }
  std::array<CapCounts, 1> redis{};
  uint32_t won = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::pair<CapTable*, CapHold>> holds;
    for (CapTable& instance : instances) {
      while (const auto hold = instance.reserve(user_, limits, redis, kNow)) {
        holds.emplace_back(&instance, *hold);
      }
    }
    for (const auto& [instance, hold] : holds) {
      (void)instance->win(user_, keys, hold, kNow);
      redis[0].add(bucket_at(keys[0], kNow), 1);
      ++won;
    }
  }
  EXPECT_EQ(won, kInstances * kMost);
}

// SPILLWAY_LONG=1 makes it 10^6 bids a thread.
TEST(CapTableThreads, SixtyFourThreadsNeverShowMoreThanTheCap) {
  constexpr size_t kThreads = 64;
  constexpr uint32_t kMost = 3;
  constexpr size_t kUsers = 50;
  const size_t bids = std::getenv("SPILLWAY_LONG") != nullptr ? 1'000'000 : 50'000;
  CapTable table({.bytes = uint64_t{1} << 22, .pending_s = 3'600});
  const std::vector<CapLimit> limits{limit_of(kMost, 1, CapWindow::kLifetime),
                                     limit_of(1'000, 2, CapWindow::kHour, CapScope::kAdvertiser)};
  const std::vector<CapKey> keys = keys_of(limits);
  std::array<std::atomic<uint32_t>, kUsers> won{};
  std::vector<UserHash> users;
  for (size_t i = 0; i < kUsers; ++i) {
    users.push_back(user_of(i));
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      base::Rng rng(t);
      std::deque<std::pair<size_t, CapHold>> open;
      for (size_t i = 0; i < bids || !open.empty(); ++i) {
        const size_t user = rng.below(kUsers);
        const auto hold =
            i < bids ? table.reserve(users[user], limits, {}, kNow)
                     : base::Result<CapHold, CapRefusal>(std::unexpected(CapRefusal::kCapped));
        if (hold) {
          open.emplace_back(user, *hold);
        }
        if (!open.empty() && (open.size() > 2 || !hold)) {
          const auto [whose, held] = open.front();
          open.pop_front();
          if (rng.below(100) < 2) {
            won[whose].fetch_add(1);
            EXPECT_TRUE(table.win(users[whose], keys, held, kNow));
          } else {
            table.release(users[whose], keys, held, kNow);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t i = 0; i < kUsers; ++i) {
    EXPECT_LE(won[i].load(), kMost);
    EXPECT_EQ(table.view(users[i], keys[0], kNow).shown, won[i].load());
    EXPECT_EQ(table.view(users[i], keys[0], kNow).pending, 0U);
  }
  const CapTableCounters counters = table.counters();
  EXPECT_EQ(counters.won + counters.released, counters.reserved);
  EXPECT_EQ(counters.won_late, 0U);
}

}  // namespace
}  // namespace spillway::bidder::caps
