#include "workload/shuffle.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::workload {
namespace {

TEST(Shuffle, EveryNumberComesOnceWhateverTheSize) {
  for (const uint64_t size : {1, 2, 3, 7, 64, 65, 1000}) {
    const Shuffle shuffle(size, 42);
    std::set<uint64_t> seen;
    for (uint64_t place = 0; place < size; ++place) {
      ASSERT_LT(shuffle.at(place), size);
      seen.insert(shuffle.at(place));
    }
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(shuffle.at(size), shuffle.at(0));
  }
}

TEST(Shuffle, OrdersOfTwoSeedsAgreeInAsManyPlacesAsChanceHasIt) {
  constexpr uint64_t kSize = 1000;
  uint64_t same = 0;
  constexpr int kPairs = 200;
  for (uint64_t seed = 0; seed < kPairs; ++seed) {
    const Shuffle one(kSize, seed);
    const Shuffle two(kSize, seed + 1000);
    for (uint64_t place = 0; place < kSize; ++place) {
      same += one.at(place) == two.at(place) ? 1 : 0;
    }
  }
  EXPECT_NEAR(static_cast<double>(same), kPairs, 5 * std::sqrt(kPairs)) << "one a pair by chance";
}

}  // namespace
}  // namespace spillway::workload
