#include "resilience/retry_budget.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
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
  EXPECT_EQ(take_all(budget, kStart + 10s, 1000), 0) << "still the same ten seconds";
  EXPECT_EQ(take_all(budget, kStart + 10250ms, 1000), 10) << "the reserve alone";
}

TEST(RetryBudget, AnAttemptThatWasNeverSentReturnsItsToken) {
  RetryBudget budget({.share = 0.0, .reserve_per_s = 1});
  EXPECT_EQ(take_all(budget, kStart, 20), 10);
  budget.give_back(kStart);
  EXPECT_EQ(take_all(budget, kStart + 1s, 20), 1);
  budget.give_back(kStart - 1h);
  budget.give_back(kStart + 1h);
  EXPECT_EQ(take_all(budget, kStart + 1s, 20), 0) << "a token of another time is worth nothing";
}

TEST(RetryBudget, TwoBurstsAtTheEdgesOfASecondShareOneBudget) {
  RetryBudget budget({.share = 0.0, .reserve_per_s = 1});
  EXPECT_EQ(take_all(budget, kStart + 999ms, 20), 10);
  EXPECT_EQ(take_all(budget, kStart + 10s, 20), 0) << "9.001 s later";
}

TEST(RetryBudget, TimeGoingBackAndTheFirstSecondsOfTimeAreSafe) {
  RetryBudget budget({.share = 0.0, .reserve_per_s = 1});
  EXPECT_EQ(take_all(budget, base::Instant{}, 20), 10);
  EXPECT_EQ(take_all(budget, base::Instant{} + 20s, 20), 10);
  EXPECT_EQ(take_all(budget, base::Instant{} + 5s, 20), 0);
  EXPECT_EQ(take_all(budget, base::Instant{} - 5s, 20), 0);
}

TEST(RetryBudget, SteadyUseGetsFortyFortyFirstsOfItsShare) {
  RetryBudget budget({.share = 0.1, .reserve_per_s = 0});
  int given = 0;
  for (int i = 0; i < 100'000; ++i) {
    const base::Instant now = kStart + i * 1ms;
    budget.start(now);
    given += budget.take(now) ? 1 : 0;
  }
  EXPECT_NEAR(given, 10'000 * 40.0 / 41, 150);
}

// The bound of the header, over every 10 s that end with an extra attempt: whatever the traffic.
TEST(RetryBudget, NoTenSecondsThatEndWithAnExtraAttemptHaveMoreThanTheBound) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    base::Rng rng(seed);
    const double share = static_cast<double>(rng.below(5)) * 0.05;
    const auto reserve = static_cast<uint32_t>(rng.below(3));
    RetryBudget budget({.share = share, .reserve_per_s = reserve});
    std::vector<base::Instant> starts;
    std::vector<base::Instant> extra;
    base::Instant now = kStart + base::Duration(static_cast<int64_t>(rng.below(1'000'000'000)));
    double rate = 100;
    size_t old_starts = 0;
    size_t old_extra = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (rng.below(500) == 0) {
        rate = std::exp(rng.uniform(0, 7));
      }
      now += base::Duration(static_cast<int64_t>(-std::log(1 - rng.uniform()) / rate * 1e9));
      if (rng.below(2) == 0) {
        budget.start(now);
        starts.push_back(now);
        continue;
      }
      if (!budget.take(now)) {
        continue;
      }
      if (rng.below(4) == 0) {
        budget.give_back(now);
        continue;
      }
      extra.push_back(now);
      while (old_starts < starts.size() && starts[old_starts] <= now - 10s) {
        ++old_starts;
      }
      while (extra[old_extra] <= now - 10s) {
        ++old_extra;
      }
      ASSERT_LE(static_cast<double>(extra.size() - old_extra),
                share * static_cast<double>(starts.size() - old_starts) + 10.0 * reserve + 1e-9)
          << "seed " << seed;
    }
    const double seconds = base::to_ms(now - kStart) / 1000;
    EXPECT_LE(static_cast<double>(extra.size()), share * static_cast<double>(starts.size()) +
                                                     10.0 * reserve * std::floor(seconds / 10 + 1));
  }
}

TEST(RetryBudget, SettingsOutsideTheirRangesAreNamed) {
  EXPECT_TRUE(validate(RetryBudget::Settings{}).empty());
  EXPECT_TRUE(validate(RetryBudget::Settings{.share = 1, .reserve_per_s = 1000}).empty());
  const auto problems = validate(RetryBudget::Settings{.share = NAN, .reserve_per_s = 1001});
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].key, "share");
  EXPECT_EQ(problems[1].key, "reserve_per_s");
  EXPECT_EQ(problems[1].what, "1001 is not between 0 and 1000");
}

}  // namespace
}  // namespace spillway::resilience
