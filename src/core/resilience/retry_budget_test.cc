#include "resilience/retry_budget.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/time.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

int take_all(RetryBudget& budget, base::Instant now, int wanted) {
  int given = 0;
  for (int i = 0; i < wanted; ++i) {
    given += budget.take(now) ? 1 : 0;
  }
  return given;
}

// H5
TEST(RetryBudget, AThousandFailuresAtOnceGetAFifthOfTheStartsAndTheReserve) {
  RetryBudget budget({.share = 0.2, .reserve_per_s = 1});
  for (int i = 0; i < 1000; ++i) {
    budget.start(kStart);
  }
  EXPECT_EQ(take_all(budget, kStart, 1000), 210);
  EXPECT_EQ(take_all(budget, kStart + 9s, 1000), 0) << "still the same ten seconds";
  EXPECT_EQ(take_all(budget, kStart + 10s, 1000), 10) << "the reserve alone";
}

TEST(RetryBudget, AnAttemptThatWasNeverSentReturnsItsToken) {
  RetryBudget budget({.share = 0.0, .reserve_per_s = 1});
  EXPECT_EQ(take_all(budget, kStart, 20), 10);
  budget.give_back(kStart);
  EXPECT_EQ(take_all(budget, kStart + 1s, 20), 1);
  budget.give_back(kStart - 1h);
  EXPECT_EQ(take_all(budget, kStart + 1s, 20), 0) << "a token of another time is worth nothing";
}

}  // namespace
}  // namespace spillway::resilience
