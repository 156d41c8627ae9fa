#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "resilience/invariants_test.h"
#include "resilience/proof.h"

// The test that the tests can fail: one bug is planted for each invariant (SPILLWAY_PLANTED in the
// guards' sources), and its property must find it.

namespace spillway::resilience {

int proof::planted_bug = 0;

namespace {

constexpr int kCases = 4'000;

class Planted : public testing::TestWithParam<invariants::Property> {
 protected:
  void TearDown() override { proof::planted_bug = 0; }
};

TEST_P(Planted, BugBreaksItsInvariantAndWithoutItTheInvariantHolds) {
  EXPECT_TRUE(invariants::run(GetParam(), 500).is<rc::detail::SuccessResult>());
  proof::planted_bug = GetParam().invariant;
  const auto result = invariants::run(GetParam(), kCases, false);
  ASSERT_TRUE(result.is<rc::detail::FailureResult>());
  RecordProperty("found", result.get<rc::detail::FailureResult>().numSuccess + 1);
}

INSTANTIATE_TEST_SUITE_P(Invariant, Planted, testing::ValuesIn(invariants::kAll),
                         [](const auto& property) {
                           return std::to_string(property.param.invariant);
                         });

}  // namespace
}  // namespace spillway::resilience
