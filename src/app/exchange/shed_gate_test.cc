#include "app/exchange/shed_gate.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/exchange_config.h"
#include "app/exchange/stats.h"
#include "base/time.h"
#include "exchange/snapshot.h"
#include "resilience/shedder.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using resilience::Criticality;
using resilience::ShedReason;

constexpr base::Instant kStart{1h};

class ShedGateTest : public testing::Test {
 protected:
  void have(const std::vector<Criticality>& classes) {
    std::vector<exchange::Account> accounts;
    for (const auto criticality : classes) {
      accounts.emplace_back().criticality = criticality;
    }
    Shedding settings;
    settings.queue.level1.in_flight = 100;
    settings.queue.level2.in_flight = 200;
    gate_.set(settings, accounts);
  }

  [[nodiscard]] uint64_t shed(size_t level, size_t reason, size_t priority) const {
    return stats_.shed[level - 1][reason][priority].value();
  }

  WorkerStats stats_;
  ShedGate gate_{stats_};
};

TEST_F(ShedGateTest, AdmitsAnIdleWorkersRequestsAndCountsNothing) {
  have({Criticality::kCritical});
  const auto levels = gate_.judge(kStart, {});
  EXPECT_EQ(levels.level(Criticality::kCritical), 0);
  EXPECT_EQ(levels.least(), 0);
  EXPECT_FALSE(gate_.settle(Criticality::kCritical));
}

TEST_F(ShedGateTest, ShedsTheLastClassFirst) {
  have({Criticality::kCritical, Criticality::kCriticalPlus, Criticality::kSheddable});
  const auto levels = gate_.judge(kStart, {.in_flight = 75});
  EXPECT_EQ(levels.level(Criticality::kSheddable), 1);
  EXPECT_EQ(levels.level(Criticality::kCritical), 0);
  EXPECT_EQ(levels.level(Criticality::kCriticalPlus), 0);
  EXPECT_TRUE(gate_.settle(Criticality::kSheddable));
  EXPECT_EQ(shed(1, static_cast<size_t>(ShedReason::kInFlight),
                 static_cast<size_t>(Criticality::kSheddable)),
            1U);
  // Between the two: some must be read to know whose they are.
  const auto between = gate_.judge(kStart, {.in_flight = 190});
  EXPECT_EQ(between.level(Criticality::kCritical), 2);
  EXPECT_EQ(between.level(Criticality::kCriticalPlus), 1);
  EXPECT_EQ(between.least(), 1);
}

TEST_F(ShedGateTest, ReadsNothingForTheSakeOfClassesThatNobodyHas) {
  have({Criticality::kSheddable});
  const auto levels = gate_.judge(kStart, {.in_flight = 150});
  EXPECT_EQ(levels.least(), 2);
  EXPECT_TRUE(gate_.settle(std::nullopt));
  EXPECT_EQ(shed(2, static_cast<size_t>(ShedReason::kInFlight), WorkerStats::kShedUnread), 1U);
}

TEST_F(ShedGateTest, ShedsEverybodyAtOnceWhenMemoryIsShort) {
  have({Criticality::kCriticalPlus, Criticality::kSheddable});
  for (const WorkerLoad& load :
       std::vector<WorkerLoad>{{.buffered_bytes = uint64_t{193} << 20}, {.flights = 400}}) {
    EXPECT_EQ(gate_.judge(kStart, load).least(), 2);
    EXPECT_TRUE(gate_.settle(std::nullopt));
  }
  EXPECT_EQ(shed(2, WorkerStats::kShedForMemory, WorkerStats::kShedUnread), 2U);
}

TEST_F(ShedGateTest, FindsAStandingQueue) {
  have({Criticality::kCritical});
  base::Instant now = kStart;
  uint64_t shed_count = 0;
  for (int i = 0; i < 3000; ++i, now += 1ms) {
    const auto levels = gate_.judge(now, {.queue_age = 15ms});
    const bool unread = levels.least() == 2;
    shed_count +=
        gate_.settle(unread ? std::nullopt : std::optional(Criticality::kCritical)) ? 1 : 0;
  }
  EXPECT_GT(shed_count, 2000U);
  const auto reason = static_cast<size_t>(ShedReason::kStandingQueue);
  EXPECT_GT(shed(1, reason, static_cast<size_t>(Criticality::kCritical)), 0U);
  EXPECT_GT(shed(2, reason, WorkerStats::kShedUnread), 0U);
}

}  // namespace
}  // namespace spillway::app
