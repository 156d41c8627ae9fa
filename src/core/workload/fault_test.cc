#include "workload/fault.h"

#include <chrono>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

TEST(FaultSchedule, AFaultIsActiveFromItsStartUpToButNotAtItsEnd) {
  FaultSchedule schedule({{.kind = FaultKind::kHang, .from = 10s, .to = 20s}}, kStart);
  base::Rng rng(1);
  EXPECT_EQ(schedule.draw(kStart + 10s - 1ns, "", rng).fault, nullptr);
  ASSERT_NE(schedule.draw(kStart + 10s, "", rng).fault, nullptr);
  EXPECT_NE(schedule.draw(kStart + 20s - 1ns, "", rng).fault, nullptr);
  EXPECT_EQ(schedule.draw(kStart + 20s, "", rng).fault, nullptr);
}

TEST(FaultSchedule, AShareHitsThatShareOfCalls) {
  FaultSchedule schedule({{.kind = FaultKind::kReset, .share_ratio = 0.3}}, kStart);
  base::Rng rng(1);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) {
    hits += schedule.draw(kStart, "", rng) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 30'000, 600);
}

TEST(FaultSchedule, AnOperatorsFaultGoesFirstAndEndsByItself) {
  FaultSchedule schedule({{.kind = FaultKind::kHang}}, kStart);
  base::Rng rng(1);
  ASSERT_TRUE(schedule.inject({.kind = FaultKind::kDrip}, kStart + 5s, 2s));
  EXPECT_EQ(schedule.draw(kStart + 6s, "", rng)->kind, FaultKind::kDrip);
  EXPECT_EQ(schedule.draw(kStart + 7s, "", rng)->kind, FaultKind::kHang);
}

TEST(FaultSchedule, ClearingEndsOperatorFaultsAndOnRequestTheSchedule) {
  FaultSchedule schedule({{.kind = FaultKind::kHang}}, kStart);
  base::Rng rng(1);
  ASSERT_TRUE(schedule.inject({.kind = FaultKind::kDrip}, kStart, base::Duration::max()));
  schedule.clear(false);
  EXPECT_EQ(schedule.draw(kStart, "", rng)->kind, FaultKind::kHang);
  schedule.clear(true);
  EXPECT_EQ(schedule.draw(kStart, "", rng).fault, nullptr);
}

TEST(FaultSchedule, TheListenerIsClosedOnlyWhileThatFaultIsActive) {
  FaultSchedule schedule({{.kind = FaultKind::kClosedListener, .from = 1s, .to = 2s}}, kStart);
  EXPECT_TRUE(schedule.listening(kStart, ""));
  EXPECT_FALSE(schedule.listening(kStart + 1s, ""));
  EXPECT_TRUE(schedule.listening(kStart + 2s, ""));
}

TEST(FaultSchedule, OperatorFaultsAreBounded) {
  FaultSchedule schedule({}, kStart);
  for (size_t i = 0; i < FaultSchedule::kOperatorFaults; ++i) {
    ASSERT_TRUE(schedule.inject({.kind = FaultKind::kHang}, kStart, 1s));
  }
  EXPECT_FALSE(schedule.inject({.kind = FaultKind::kHang}, kStart, 1s));
  EXPECT_TRUE(schedule.inject({.kind = FaultKind::kHang}, kStart + 1s, 1s))
      << "ended ones give their place back";
}

TEST(FaultSchedule, AFlappingFaultIsActiveForTheFirstPartOfEachPeriod) {
  FaultSchedule schedule({{.kind = FaultKind::kHang, .from = 5s, .every = 10s, .on = 4s}}, kStart);
  base::Rng rng(1);
  for (const auto start : {5s, 15s, 1005s}) {
    EXPECT_TRUE(schedule.draw(kStart + start, "", rng));
    EXPECT_TRUE(schedule.draw(kStart + start + 4s - 1ns, "", rng));
    EXPECT_FALSE(schedule.draw(kStart + start + 4s, "", rng));
    EXPECT_FALSE(schedule.draw(kStart + start + 10s - 1ns, "", rng));
  }
}

TEST(FaultSchedule, AFaultOfOneHostHitsOnlyCallsThere) {
  FaultSchedule schedule({{.kind = FaultKind::kClosedListener, .host = "127.0.0.2"}}, kStart);
  base::Rng rng(1);
  EXPECT_TRUE(schedule.draw(kStart, "127.0.0.2", rng));
  EXPECT_FALSE(schedule.draw(kStart, "127.0.0.1", rng));
  EXPECT_FALSE(schedule.listening(kStart, "127.0.0.2"));
  EXPECT_TRUE(schedule.listening(kStart, "127.0.0.1"));
}

TEST(Fault, PeriodAndGrowthAreWholeOrNotThere) {
  EXPECT_EQ(validate(Fault{.kind = FaultKind::kHang, .every = 1s}).size(), 1);
  EXPECT_EQ(validate(Fault{.kind = FaultKind::kHang, .every = 1s, .on = 1s}).size(), 1);
  EXPECT_TRUE(validate(Fault{.kind = FaultKind::kHang, .every = 2s, .on = 1s}).empty());
  EXPECT_EQ(validate(Fault{.kind = FaultKind::kSlow, .added_to = 1s}).size(), 1);
  EXPECT_EQ(validate(Fault{.kind = FaultKind::kSlow, .added = 1s, .over = 1s}).size(), 1);
}

TEST(Fault, EveryKindHasItsOwnNameThatReadsBack) {
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    EXPECT_EQ(fault_kind_of(to_string(kind)), kind);
  }
  EXPECT_EQ(fault_kind_of("sleepy"), std::nullopt);
}

TEST(Fault, ASlowFaultMustSayHowSlow) {
  EXPECT_EQ(validate(Fault{.kind = FaultKind::kSlow}).size(), 1);
  EXPECT_TRUE(validate(Fault{.kind = FaultKind::kSlow, .added = 5ms}).empty());
}

}  // namespace
}  // namespace spillway::workload
