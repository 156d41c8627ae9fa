#include "bidder/caps/key_set.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/caps/window.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {
namespace {

CapKey key(int64_t id, CapWindow window = CapWindow::kDay, int32_t offset_s = 0) {
  return {.window = window, .id = id, .offset_s = offset_s};
}

TEST(KeySet, NumbersEveryCounterOnceInTheOrderOfItsComing) {
  KeySet set;
  set.clear();
  EXPECT_EQ(set.add(key(5)), 0U);
  EXPECT_EQ(set.add(key(5, CapWindow::kHour)), 1U);
  EXPECT_EQ(set.add(key(5, CapWindow::kDay, 3600)), 0U) << "the offset makes no other counter";
  EXPECT_EQ(set.add({.scope = CapScope::kCreative, .id = 5}), 2U);
  EXPECT_EQ(set.add({.kind = CapKind::kSliding, .id = 5}), 3U);
  EXPECT_EQ(set.size(), 4U);
  EXPECT_TRUE(set.keys()[1].same_counter(key(5, CapWindow::kHour)));
}

TEST(KeySet, GrowsAndForgets) {
  KeySet set;
  for (int round = 0; round < 3; ++round) {
    set.clear();
    EXPECT_EQ(set.size(), 0U);
    for (uint32_t i = 0; i < 1'000; ++i) {
      ASSERT_EQ(set.add(key(int64_t{i} * 1'024)), i);
    }
    for (uint32_t i = 0; i < 1'000; ++i) {
      ASSERT_EQ(set.add(key(int64_t{i} * 1'024)), i);
    }
  }
  EXPECT_EQ(set.size(), 1'000U);
}

}  // namespace
}  // namespace spillway::bidder::caps
