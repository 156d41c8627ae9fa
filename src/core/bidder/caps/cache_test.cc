#include "bidder/caps/cache.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/caps/table.h"
#include "bidder/caps/tiny_lfu.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {
namespace {

constexpr int64_t kNow = 1'767'571'200;  // a Monday, 00:00 UTC

UserHash user_of(uint64_t number) { return hash_user("test", std::to_string(number)).value(); }

CapCacheSettings settings_of(uint64_t bytes = uint64_t{1} << 20, int64_t ttl_s = 600) {
  return {.routing = Routing::kSingleInstance, .bytes = bytes, .ttl_s = ttl_s};
}

CapCounts shown(const CapKey& key, int64_t at, uint32_t count) {
  CapCounts counts;
  counts.add(bucket_at(key, at), count);
  return counts;
}

class CapCacheTest : public ::testing::Test {
 protected:
  /// The total of one key, or -1 when it would have to be read.
  int64_t total(const CapKey& key, int64_t at) {
    std::array<CapCounts, 1> counts{};
    std::vector<uint32_t> missing;
    if (!cache_.find(user_, {{key}}, counts, missing, at)) {
      return -1;
    }
    return counts[0].total(bucket_at(key, at), buckets_of(key));
  }

  CapCache cache_{settings_of()};
  UserHash user_ = user_of(1);
  CapKey day_{.id = 1};
  CapKey hour_{.window = CapWindow::kHour, .id = 1};
};

TEST_F(CapCacheTest, IsOffUntilTheOperatorSaysHowRequestsAreRouted) {
  CapCache off{CapCacheSettings{}};
  EXPECT_FALSE(off.on());
  EXPECT_EQ(off.bytes(), 0U);
  const std::array<CapKey, 1> keys{day_};
  std::array<CapCounts, 1> counts{shown(day_, kNow, 1)};
  off.populate(user_, keys, counts, kNow);
  off.win(user_, keys, kNow);
  std::vector<uint32_t> missing;
  EXPECT_FALSE(off.find(user_, keys, counts, missing, kNow));
  EXPECT_EQ(missing, std::vector<uint32_t>{0});
}

// Defect 3.3.1 of the reference: the fast path never learns of wins.
TEST_F(CapCacheTest, AWinIsSeenByTheNextRequest) {
  cache_.populate(user_, {{day_}}, {{shown(day_, kNow, 2)}}, kNow);
  EXPECT_EQ(total(day_, kNow), 2);
  cache_.win(user_, {{day_}}, kNow + 1);
  EXPECT_EQ(total(day_, kNow + 1), 3);
}

TEST_F(CapCacheTest, AWinOfWhatIsNotKnownInventsNoCount) {
  cache_.win(user_, {{day_}}, kNow);
  EXPECT_EQ(total(day_, kNow), -1);
}

// Defect 3.3.3: cached windows never roll.
TEST_F(CapCacheTest, WindowsRollInsideTheCache) {
  const int64_t late = kNow + 3'599;
  cache_.populate(user_, {{hour_}}, {{shown(hour_, late, 3)}}, late);
  EXPECT_EQ(total(hour_, late), 3);
  EXPECT_EQ(total(hour_, late + 1), 0);
}

TEST_F(CapCacheTest, AReadMergesByMaxSoThatALaggingReplicaTakesNoWinBack) {
  cache_.populate(user_, {{day_}}, {{shown(day_, kNow, 2)}}, kNow);
  cache_.win(user_, {{day_}}, kNow);
  cache_.populate(user_, {{day_}}, {{shown(day_, kNow, 2)}}, kNow + 5);
  EXPECT_EQ(total(day_, kNow + 5), 3);
  cache_.populate(user_, {{day_}}, {{shown(day_, kNow, 7)}}, kNow + 6);
  EXPECT_EQ(total(day_, kNow + 6), 7);
}

TEST_F(CapCacheTest, AskingForSomeKnownAndSomeUnknownKeysNamesTheUnknown) {
  const CapKey other{.id = 2};
  cache_.populate(user_, {{day_}}, {{shown(day_, kNow, 1)}}, kNow);
  std::array<CapCounts, 3> counts{};
  std::vector<uint32_t> missing;
  EXPECT_FALSE(cache_.find(user_, {{hour_, day_, other}}, counts, missing, kNow));
  EXPECT_EQ(missing, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(counts[1].total(bucket_at(day_, kNow), 1), 1U);
  EXPECT_EQ(cache_.counters().warm_hits, 1U);
  EXPECT_EQ(cache_.counters().cold_misses, 2U);
  EXPECT_EQ(cache_.counters().populated, 1U);
}

// Defect 3.3.2: expiry and eviction replay an impression for every pair ever looked up.
TEST_F(CapCacheTest, WhatExpiresIsAskedForAgainAndNothingElseHappens) {
  cache_.populate(user_, {{day_}}, {{CapCounts{}}}, kNow);
  EXPECT_EQ(total(day_, kNow + 599), 0);
  EXPECT_EQ(total(day_, kNow + 600), -1);
  cache_.populate(user_, {{day_}}, {{CapCounts{}}}, kNow + 600);
  EXPECT_EQ(total(day_, kNow + 601), 0);
}

TEST_F(CapCacheTest, MemoryIsBoundedByBytesWhateverTheUsersDo) {
  CapCache cache(settings_of(uint64_t{1} << 20));
  const uint64_t before = cache.bytes();
  EXPECT_LE(before, uint64_t{1} << 20);
  for (uint64_t i = 0; i < 60'000; ++i) {
    cache.populate(user_of(i), {{day_}}, {{CapCounts{}}}, kNow);
  }
  EXPECT_EQ(cache.bytes(), before);
  EXPECT_GT(cache.counters().evicted, 40'000U);
  EXPECT_EQ(cache.counters().populated, 60'000U);
}

/// What Redis would say, exactly.
class Truth {
 public:
  void win(uint64_t user, const CapKey& key, int64_t at) {
    counts_[{user, key.id, key.window}].add(bucket_at(key, at), 1);
    ++wins;
  }

  CapCounts of(uint64_t user, const CapKey& key) { return counts_[{user, key.id, key.window}]; }

  uint64_t wins = 0;

 private:
  std::map<std::tuple<uint64_t, int64_t, CapWindow>, CapCounts> counts_;
};

// The cache forgets (TTL, eviction), windows turn twice, users come and go: what it says is always
// what Redis says.
TEST(CapCacheHours, TwoHoursWithTheCacheOnMakeNoPhantomCount) {
  CapCache cache(settings_of(uint64_t{1} << 20, 300));
  Truth truth;
  base::Rng rng(3);
  uint64_t hits = 0;
  uint64_t shown_in_truth = 0;
  for (int64_t at = kNow - 1'800; at < kNow + 2 * 3'600; ++at) {
    for (int i = 0; i < 40; ++i) {
      const uint64_t user = rng.below(10) < 8 ? rng.below(500) : rng.below(100'000);
      std::vector<CapKey> keys;
      for (int64_t campaign = 0; campaign < 3; ++campaign) {
        keys.push_back({.window = CapWindow::kHour, .id = campaign});
        keys.push_back({.window = CapWindow::kDay, .id = campaign});
      }
      std::vector<CapCounts> counts(keys.size());
      std::vector<uint32_t> missing;
      (void)cache.find(user_of(user), keys, counts, missing, at);
      hits += keys.size() - missing.size();
      for (const uint32_t k : missing) {
        counts[k] = truth.of(user, keys[k]);
        cache.populate(user_of(user), {{keys[k]}}, {{counts[k]}}, at);
      }
      for (size_t k = 0; k < keys.size(); ++k) {
        ASSERT_EQ(counts[k].total(bucket_at(keys[k], at), 1),
                  truth.of(user, keys[k]).total(bucket_at(keys[k], at), 1))
            << "user " << user << " at " << at;
      }
      if (rng.below(10) == 0) {
        const auto campaign = static_cast<size_t>(rng.below(3));
        for (const CapKey& key : {keys[2 * campaign], keys[2 * campaign + 1]}) {
          truth.win(user, key, at);
          cache.win(user_of(user), {{key}}, at);
        }
        shown_in_truth += 2;
      }
    }
  }
  EXPECT_EQ(truth.wins, shown_in_truth);
  EXPECT_GT(hits, 100'000U);
  EXPECT_GT(cache.counters().evicted, 0U);
}

TEST(TinyLfu, KeepsWhatIsAskedForOftenThroughAFloodOfOneTimers) {
  TinyLfu lfu(1'000);
  base::Rng rng(4);
  const auto use = [&lfu](uint64_t key) {
    const bool hit = lfu.ask(key) != TinyLfu::kNone;
    if (!hit) {
      (void)lfu.insert(key);
    }
    return hit;
  };
  for (int i = 0; i < 20'000; ++i) {
    (void)use(1 + rng.below(500));
  }
  uint64_t flood = 1'000'000;
  int hits = 0;
  for (int i = 0; i < 20'000; ++i) {
    (void)use(++flood);
    (void)use(++flood);
    hits += use(1 + rng.below(500)) ? 1 : 0;
  }
  EXPECT_GT(hits, 18'000) << "an LRU of this size would keep less than half";
  EXPECT_EQ(lfu.used(), 1'000U);
}

TEST(TinyLfu, EveryPlaceHasOneKeyThroughAnyHistory) {
  TinyLfu lfu(50);
  base::Rng rng(5);
  std::map<uint32_t, uint64_t> by_place;
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t key = 1 + rng.below(rng.below(2) == 0 ? 40 : 400);
    const uint32_t place = lfu.ask(key);
    if (place != TinyLfu::kNone) {
      ASSERT_EQ(by_place[place], key);
      continue;
    }
    by_place[lfu.insert(key).slot] = key;
    ASSERT_LE(lfu.used(), 50U);
    ASSERT_NE(lfu.peek(key), TinyLfu::kNone);
  }
}

}  // namespace
}  // namespace spillway::bidder::caps
