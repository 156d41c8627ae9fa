#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "resilience/invariants_test.h"
#include "resilience/play_test.h"

// 100 000 schedules in all, shared out by cost; ten million with
// RC_PARAMS="max_success=1111112" (./check --full).
// Repeat a failure with the RC_PARAMS it prints, and keep what it shrank to below.

namespace spillway::resilience {
namespace {

/// As many as shares of the whole; accounts_are_exact proves five invariants at once.
struct Share {
  int invariant = 0;
  int cases = 0;
};

class GuardProperties : public testing::TestWithParam<Share> {};

TEST_P(GuardProperties, HoldOverRandomSchedules) {
  for (const invariants::Property& property : invariants::kAll) {
    if (property.invariant != GetParam().invariant) {
      continue;
    }
    invariants::played = {};
    const rc::detail::TestResult result = invariants::run(property, GetParam().cases);
    rc::detail::printResultMessage(result, std::cout);
    std::cout << '\n'
              << property.name << ": " << invariants::played.operations << " operations, "
              << invariants::played.moves << " moves, seed "
              << rc::detail::configuration().testParams.seed << '\n';
    EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << property.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Invariant, GuardProperties,
                         testing::Values(Share{1, 25'000}, Share{3, 15'000}, Share{4, 5'000},
                                         Share{5, 10'000}, Share{6, 10'000}, Share{7, 10'000},
                                         Share{8, 5'000}, Share{12, 10'000}, Share{14, 10'000}),
                         [](const auto& share) { return std::to_string(share.param.invariant); });

}  // namespace
}  // namespace spillway::resilience
