#include "base/rng.h"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "base/hash.h"

namespace spillway::base {
namespace {

TEST(Rng, TheSameSeedGivesTheSameNumbersAndAnotherSeedOthers) {
  Rng a(42);
  Rng b(42);
  Rng c(43);
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    EXPECT_NE(value, c.next());
  }
}

TEST(Rng, StaysInItsRangesAndFillsThem) {
  Rng rng(1);
  std::set<uint64_t> seen;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t below = rng.below(7);
    ASSERT_LT(below, 7U);
    seen.insert(below);
    const double unit = rng.uniform();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    const double normal = rng.normal();
    sum += normal;
    squares += normal * normal;
  }
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_NEAR(sum / 100'000, 0, 0.02);
  EXPECT_NEAR(squares / 100'000, 1, 0.03);
}

// Replay, ties and ramps hang on these values: a release that changes them must say so.
TEST(Hash, ValuesAreFrozen) {
  EXPECT_EQ(hash64("req-1"), hash64("req-1"));
  EXPECT_NE(hash64("req-1"), hash64("req-1", 1));
  EXPECT_EQ(mix64(0), 0U);
  EXPECT_EQ(mix64(1), 0x5692161d100b05e5ULL);
}

TEST(Hash, SpreadsSharesEvenly) {
  int below_tenth = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    below_tenth += unit(combine64(i, 7)) < 0.1 ? 1 : 0;
  }
  EXPECT_NEAR(below_tenth, 10'000, 400);
}

}  // namespace
}  // namespace spillway::base
