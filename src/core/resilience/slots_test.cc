#include "resilience/slots.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rng.h"

namespace spillway::resilience {
namespace {

uint32_t take_all(Slots& slots, uint32_t worker) {
  uint32_t taken = 0;
  while (slots.take(worker)) {
    ++taken;
  }
  return taken;
}

TEST(Slots, OneWorkerMayHaveTheWholeLimitWhateverLiesInOtherHands) {
  Slots slots(4);
  slots.set_limit(100);
  for (uint32_t worker = 1; worker < 4; ++worker) {
    ASSERT_TRUE(slots.take(worker));  // Leaves a batch of credits in its hand.
    slots.give_back(worker);
  }
  EXPECT_EQ(take_all(slots, 0), 100U);
  EXPECT_EQ(slots.held(), 100);
}

TEST(Slots, ALoweredLimitTakesUnusedCreditsBackAtOnce) {
  Slots slots(2);
  slots.set_limit(512);
  ASSERT_TRUE(slots.take(0));
  ASSERT_TRUE(slots.take(1));
  slots.set_limit(2);
  EXPECT_FALSE(slots.take(0));
  EXPECT_FALSE(slots.take(1));
  slots.give_back(0);
  EXPECT_TRUE(slots.take(1));
  EXPECT_FALSE(slots.take(0));
}

TEST(Slots, WhatWasHeldWhenTheLimitFellIsPaidBackBeforeAnyoneTakes) {
  Slots slots(2);
  slots.set_limit(512);
  EXPECT_EQ(take_all(slots, 0), 512U);
  slots.set_limit(64);
  for (int i = 0; i < 448; ++i) {
    slots.give_back(0);
    ASSERT_FALSE(slots.take(i % 2 == 0 ? 0 : 1)) << i;
    if (i % 50 == 0) {
      slots.settle();
    }
  }
  slots.give_back(0);
  EXPECT_TRUE(slots.take(1));
  EXPECT_FALSE(slots.take(1));
}

TEST(Slots, AWorkerKnowsItsOwnCallsExactlyAndTheOthersOfTheLastTick) {
  Slots slots(2);
  slots.set_limit(100);
  ASSERT_TRUE(slots.take(0));
  ASSERT_TRUE(slots.take(1));
  EXPECT_EQ(slots.held_seen_by(0), 1);
  slots.settle();
  EXPECT_EQ(slots.held_seen_by(0), 2);
  slots.give_back(0);
  EXPECT_EQ(slots.held_seen_by(0), 1);
}

/// Takes, returns and limits in any order on one thread: exact at every step.
TEST(SlotsProperties, ATakeSucceedsWhenAndOnlyWhenFewerThanTheLimitAreHeld) {
  EXPECT_TRUE(rc::check("slots", [](const std::vector<std::pair<uint8_t, uint8_t>>& steps) {
    Slots slots(3);
    std::array<uint32_t, 3> held{};
    uint32_t limit = 30;
    slots.set_limit(limit);
    for (const auto& [kind, pick] : steps) {
      const uint32_t worker = pick % 3U;
      if (kind % 16 == 0) {
        limit = pick % 64U;
        slots.set_limit(limit);
      } else if (kind % 16 == 1) {
        slots.settle();
      } else {
        for (uint32_t i = 0; i < pick % 12U; ++i) {
          if (kind % 2 == 0) {
            const uint32_t all = std::accumulate(held.begin(), held.end(), 0U);
            const bool taken = slots.take(worker);
            RC_ASSERT(taken == (all < limit));
            held[worker] += taken ? 1 : 0;
          } else if (held[worker] > 0) {
            slots.give_back(worker);
            --held[worker];
          }
        }
      }
    }
  }));
}

constexpr uint32_t kWorkers = 3;

/// Workers take and return while the limit moves between being dealt and not.
struct Hammer {
  Slots slots{kWorkers};
  std::atomic<int64_t> held{0};
  std::atomic<int64_t> most{0};
  std::atomic<uint64_t> takes{0};
  std::atomic<bool> stop{false};

  void work(uint32_t worker) {
    base::Rng rng(worker + 1);
    uint32_t mine = 0;
    while (!stop.load()) {
      takes.fetch_add(1);
      if (rng.below(3) != 0 && slots.take(worker)) {
        ++mine;
        const int64_t holding = held.fetch_add(1) + 1;
        int64_t seen = most.load();
        while (holding > seen && !most.compare_exchange_weak(seen, holding)) {
        }
      } else if (mine > 0) {
        // Uncounted here before it is returned: what is really held can only be more.
        held.fetch_sub(1);
        slots.give_back(worker);
        --mine;
      }
    }
    for (; mine > 0; --mine) {
      slots.give_back(worker);
    }
  }
};

// L7
TEST(SlotsStress, NeverMoreThanTheLimitAreHeldAndNoneIsLost) {
  Hammer hammer;
  hammer.slots.set_limit(48);
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&hammer, i] { hammer.work(i); });
  }
  constexpr std::array<uint32_t, 5> kLimits{48, 24, 10, 30, 1};
  for (size_t i = 0; i < 150; ++i) {
    hammer.slots.set_limit(kLimits[i % kLimits.size()]);
    hammer.slots.settle();
    const uint64_t seen = hammer.takes.load();
    while (hammer.takes.load() < seen + 100) {
      std::this_thread::yield();
    }
  }
  hammer.stop = true;
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_LE(hammer.most, 48);
  EXPECT_GT(hammer.most, 24);
  EXPECT_EQ(hammer.slots.held(), 0);
  hammer.slots.set_limit(48);
  EXPECT_EQ(take_all(hammer.slots, 1), 48U);
}

}  // namespace
}  // namespace spillway::resilience
