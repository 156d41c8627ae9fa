#include "resilience/guard.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "resilience/call_driver_test.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {
namespace {

TEST(Guard, AHealthyDependencyIsAskedAlwaysAndAHungOneOpensWithinFiveSeconds) {
  CallDriver driver(1);
  driver.run(60s, 20, 300ms, lognormal(60, 0.3));
  EXPECT_EQ(driver.refused, 0U);
  EXPECT_NEAR(base::to_ms(driver.guard.peek().p50), 60, 5);
  const auto opened = driver.until(State::kOpen, 60s, 5, 300ms, hang());
  ASSERT_TRUE(opened.has_value());
  EXPECT_LE(base::to_ms(*opened), 5000);
  const auto closed = driver.until(State::kClosed, 120s, 20, 300ms, lognormal(60, 0.3));
  ASSERT_TRUE(closed.has_value());
  EXPECT_LE(base::to_ms(*closed), 60'000);
}

}  // namespace
}  // namespace spillway::resilience
