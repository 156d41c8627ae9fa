#include "bidder/scoring/ab_split.h"

#include <string_view>

#include "base/hash.h"

namespace spillway::bidder {

std::string_view to_string(Arm arm) { return arm == Arm::kTest ? "test" : "control"; }

Arm AbSplit::arm_of(std::string_view user) const {
  if (user.empty() || test_ratio <= 0) {
    return Arm::kControl;
  }
  const auto draw = base::unit(base::hash64(user, base::hash64(seed)));
  return draw < test_ratio ? Arm::kTest : Arm::kControl;
}

}  // namespace spillway::bidder
