#include "base/spin_lock.h"

#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::base {
namespace {

TEST(SpinLock, SectionsOfManyThreadsNeverOverlap) {
  SpinLock lock;
  uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20'000; ++j) {
        const SpinSection section(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, 16U * 20'000);
}

TEST(SpinLock, IsTakenOnce) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace spillway::base
