#include "resilience/rate.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

TEST(QpsContract, WithoutAContractEverythingPasses) {
  QpsContract contract;
  EXPECT_FALSE(contract.in_force());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(contract.take(kStart));
  }
}

// In every stretch between two calls that passed: at most qps·(T + 0.1) + 1 of them, both ends in.
TEST(QpsContract, NoStretchHoldsMoreThanTheContractHoweverTheCallsCome) {
  for (const uint32_t qps : {1U, 7U, 10U, 333U, 9'999U, 1'000'000U, 10'000'000U}) {
    base::Rng rng(qps);
    QpsContract contract;
    contract.set_qps(qps);
    std::vector<base::Instant> passed;
    base::Instant now = kStart;
    for (int i = 0; i < 4000; ++i) {
      // Bursts, and pauses of up to a fifth of a second and of up to 20 calls.
      const double pause_s = rng.below(4) != 0    ? 0
                             : rng.below(50) == 0 ? rng.uniform(0, 0.2)
                                                  : rng.uniform(0, 20.0 / qps);
      now += base::Duration(static_cast<int64_t>(pause_s * 1e9));
      if (contract.take(now)) {
        passed.push_back(now);
      }
    }
    ASSERT_GT(passed.size(), 20U) << qps;
    for (size_t from = 0; from < passed.size(); ++from) {
      for (size_t to = from; to < passed.size(); ++to) {
        const double seconds = base::to_ms(passed[to] - passed[from]) / 1000;
        ASSERT_LE(static_cast<double>(to - from + 1), qps * (seconds + 0.1) + 1 + 1e-6) << qps;
      }
    }
  }
}

TEST(QpsContract, AskedWithoutPauseItPassesItsContract) {
  for (const uint32_t qps : {1U, 9U, 50U, 999U, 30'000U}) {
    QpsContract contract;
    contract.set_qps(qps);
    uint64_t passed = 0;
    for (base::Instant now = kStart; now < kStart + 10s; now += 10us) {
      passed += contract.take(now) ? 1 : 0;
    }
    EXPECT_GE(passed, qps * 10U) << qps;
    EXPECT_LE(static_cast<double>(passed), qps * 10.1 + 1) << qps;
  }
}

TEST(QpsContract, AnIdleHourSavesATenthOfASecondAndNoMore) {
  QpsContract contract;
  contract.set_qps(100);
  ASSERT_TRUE(contract.take(kStart));
  uint64_t burst = 0;
  for (int i = 0; i < 1000; ++i) {
    burst += contract.take(kStart + 1h) ? 1 : 0;
  }
  EXPECT_EQ(burst, 10U);
}

TEST(QpsContract, AChangeOfTheRateIsNoNewBurst) {
  QpsContract contract;
  contract.set_qps(100);
  while (contract.take(kStart)) {
  }
  contract.set_qps(100);
  EXPECT_FALSE(contract.take(kStart));
  contract.set_qps(50);
  EXPECT_FALSE(contract.take(kStart));
  contract.set_qps(0);
  EXPECT_TRUE(contract.take(kStart));
}

TEST(QpsContract, TimeGoingBackGivesNothing) {
  QpsContract contract;
  contract.set_qps(10);
  ASSERT_TRUE(contract.take(kStart));
  EXPECT_FALSE(contract.take(kStart - 1s));
  EXPECT_FALSE(contract.take(kStart));
  EXPECT_TRUE(contract.take(kStart + 100ms));
}

TEST(QpsContract, WhatIsGivenBackCanBeTakenOnceMore) {
  QpsContract contract;
  contract.set_qps(100);
  uint64_t burst = 0;
  while (contract.take(kStart)) {
    ++burst;
  }
  ASSERT_EQ(burst, 10U);
  contract.give_back();
  contract.give_back();
  EXPECT_TRUE(contract.take(kStart));
  EXPECT_TRUE(contract.take(kStart));
  EXPECT_FALSE(contract.take(kStart));
}

TEST(QpsContract, ThreadsAtOneInstantShareTheBurstToTheLastCall) {
  QpsContract contract;
  contract.set_qps(10'000'000);
  std::atomic<uint64_t> passed = 0;
  std::latch together(4);
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      uint64_t mine = 0;
      together.arrive_and_wait();
      for (int i = 0; i < 1'000'000; ++i) {
        mine += contract.take(kStart) ? 1 : 0;
      }
      passed += mine;
    });
  }
  threads.clear();
  EXPECT_EQ(passed.load(), 1'000'000U);
}

TEST(QpsContract, ManyThreadsTogetherKeepItAndLoseNoCall) {
  QpsContract contract;
  contract.set_qps(1000);
  std::atomic<uint64_t> passed = 0;
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        passed += contract.take(kStart + i * 100us) ? 1 : 0;
      }
    });
  }
  threads.clear();
  // One thread's time may run ahead of another's; what passes is bounded by the latest of them.
  EXPECT_LE(passed.load(), 2101U);
  EXPECT_GE(passed.load(), 2000U);
}

}  // namespace
}  // namespace spillway::resilience
