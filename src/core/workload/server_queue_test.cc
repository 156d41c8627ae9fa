#include "workload/server_queue.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

TEST(ServerQueue, ACallThatFindsAFreeServerTakesItsServiceTime) {
  ServerQueue queue;
  EXPECT_EQ(queue.enter(kStart, 10ms, 2, 1s), 10ms);
  EXPECT_EQ(queue.enter(kStart, 10ms, 2, 1s), 10ms);
  EXPECT_EQ(queue.enter(kStart, 10ms, 2, 1s), 20ms) << "the third waits for the first";
  EXPECT_EQ(queue.enter(kStart + 20ms, 10ms, 2, 1s), 10ms);
}

TEST(ServerQueue, ACallThatWouldWaitTooLongIsRefusedAndUsesNoServer) {
  ServerQueue queue;
  ASSERT_EQ(queue.enter(kStart, 1s, 1, 500ms), 1s);
  EXPECT_EQ(queue.enter(kStart, 1s, 1, 500ms), std::nullopt);
  EXPECT_EQ(queue.enter(kStart + 500ms, 1s, 1, 500ms), 1500ms);
}

// M/D/1: the mean wait is rho / (2 (1 - rho)) service times.
TEST(ServerQueue, TheMeanWaitUnderRandomArrivalsIsWhatQueueingTheorySays) {
  ServerQueue queue;
  base::Rng rng(3);
  constexpr double kRho = 0.8;
  constexpr int kCalls = 400'000;
  base::Instant now = kStart;
  double waited_ms = 0;
  for (int i = 0; i < kCalls; ++i) {
    now += base::Duration(static_cast<int64_t>(-std::log(1 - rng.uniform()) * 10e6 / kRho));
    waited_ms += base::to_ms(queue.enter(now, 10ms, 1, 1h).value() - 10ms);
  }
  EXPECT_NEAR(waited_ms / kCalls, 10 * kRho / (2 * (1 - kRho)), 1.0);
}

}  // namespace
}  // namespace spillway::workload
