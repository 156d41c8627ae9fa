#include "workload/arrivals.h"

#include <chrono>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

std::vector<base::Instant> all_of(const ArrivalSettings& settings, uint64_t seed = 1) {
  std::vector<base::Instant> dues;
  Arrivals arrivals(settings, kStart, seed);
  while (const auto due = arrivals.next()) {
    dues.push_back(*due);
    arrivals.pop();
  }
  return dues;
}

TEST(Arrivals, AConstantScheduleHasExactlyRateTimesDurationArrivalsEvenlySpaced) {
  const ArrivalSettings settings{
      .kind = ArrivalSettings::Kind::kConstant, .rate = 300, .duration = 10s};
  const auto dues = all_of(settings);
  ASSERT_EQ(dues.size(), 3000);
  EXPECT_EQ(Arrivals::expected(settings), 3000);
  EXPECT_EQ(dues.front(), kStart);
  for (size_t i = 1; i < dues.size(); ++i) {
    EXPECT_NEAR(base::to_ms(dues[i] - dues[i - 1]), 1000.0 / 300, 1e-5);
  }
}

TEST(Arrivals, AConstantScheduleDoesNotDriftOverAnHour) {
  const auto dues = all_of({.kind = ArrivalSettings::Kind::kConstant, .rate = 7, .duration = 1h});
  EXPECT_EQ(dues.size(), 7 * 3600);
  EXPECT_NEAR(base::to_ms(dues[7 * 1800] - kStart), 1'800'000.0, 0.001);
}

TEST(Arrivals, PoissonGapsHaveTheMeanAndTheVarianceOfAnExponential) {
  const auto dues =
      all_of({.kind = ArrivalSettings::Kind::kPoisson, .rate = 1000, .duration = 200s});
  double sum = 0;
  double squares = 0;
  for (size_t i = 1; i < dues.size(); ++i) {
    const double gap = base::to_ms(dues[i] - dues[i - 1]);
    sum += gap;
    squares += gap * gap;
  }
  const auto count = static_cast<double>(dues.size() - 1);
  EXPECT_NEAR(count, 200'000, 2000);
  EXPECT_NEAR(sum / count, 1.0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / count - 1.0), 1.0, 0.02);
}

TEST(Arrivals, TheSameSeedGivesTheSameSchedule) {
  const ArrivalSettings settings{
      .kind = ArrivalSettings::Kind::kPoisson, .rate = 50, .duration = 2s};
  EXPECT_EQ(all_of(settings, 3), all_of(settings, 3));
  EXPECT_NE(all_of(settings, 3), all_of(settings, 4));
}

}  // namespace
}  // namespace spillway::workload
