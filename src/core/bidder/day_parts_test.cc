#include "bidder/day_parts.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/model.h"

namespace spillway::bidder {
namespace {

TEST(DayParts, GroupsOfDaysAndHoursAreRead) {
  const auto hours = parse_day_parts("mon-fri 8-12,13-22;  sat 0-24");
  ASSERT_TRUE(hours) << hours.error();
  EXPECT_EQ(hours->count(), 5U * 13 + 24);
  EXPECT_FALSE(hours->test(7));
  EXPECT_TRUE(hours->test(8));
  EXPECT_FALSE(hours->test(12));
  EXPECT_TRUE(hours->test(4 * 24 + 21));
  EXPECT_TRUE(hours->test(5 * 24 + 23));
  EXPECT_FALSE(hours->test(6 * 24));
}

TEST(DayParts, AlwaysAndNeverHaveNames) {
  EXPECT_TRUE(parse_day_parts("always")->all());
  EXPECT_TRUE(parse_day_parts(" never ")->none());
  EXPECT_EQ(to_string(*parse_day_parts("mon-sun 0-24")), "always");
  EXPECT_EQ(to_string(DayParts()), "never");
}

TEST(DayParts, WhatIsNoScheduleIsNamed) {
  for (const std::string_view text :
       {"", "mon", "mon ", "xyz 8-9", "fri-mon 8-9", "mon 9", "mon 9-9", "mon 9-25",
        "mon 8-9,,10-11", "mon -1-9", "mon 8-9 tue 8-9", "mon 008-9", "mon-tue-wed 1-2"}) {
    const auto hours = parse_day_parts(text);
    EXPECT_FALSE(hours) << text;
  }
  EXPECT_EQ(parse_day_parts("mon 8-x").error(), "\"8-x\" is no range of hours (0 to 24)");
}

TEST(DayParts, EveryMaskSurvivesItsSpelling) {
  base::Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    DayParts hours;
    const double share = rng.uniform();
    for (size_t at = 0; at < hours.size(); ++at) {
      hours.set(at, rng.uniform() < share);
    }
    const std::string text = to_string(hours);
    const auto again = parse_day_parts(text);
    ASSERT_TRUE(again) << text << ": " << again.error();
    EXPECT_EQ(*again, hours) << text;
  }
}

}  // namespace
}  // namespace spillway::bidder
