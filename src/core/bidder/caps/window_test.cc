#include "bidder/caps/window.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {
namespace {

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kMonday = 1'767'571'200;  // 2026-01-05 00:00 UTC

CapKey key_of(CapWindow window, CapKind kind = CapKind::kCalendar, int32_t offset_s = 0) {
  return {.window = window, .kind = kind, .id = 1, .offset_s = offset_s};
}

TEST(CapWindow, CalendarWindowsBeginWithTheHourTheDayAndTheMondayOfTheAdvertisersZone) {
  for (const int32_t offset : {0, 3600, -5 * 3600, 19'800, 14 * 3600, -12 * 3600}) {
    const int64_t monday = kMonday - offset;
    for (const auto& [window, length] :
         {std::pair{CapWindow::kDay, kDay}, std::pair{CapWindow::kWeek, 7 * kDay}}) {
      const CapKey key = key_of(window, CapKind::kCalendar, offset);
      EXPECT_EQ(bucket_at(key, monday - 1) + 1, bucket_at(key, monday)) << offset;
      EXPECT_EQ(bucket_at(key, monday), bucket_at(key, monday + length - 1)) << offset;
      EXPECT_EQ(bucket_at(key, monday) + 1, bucket_at(key, monday + length)) << offset;
    }
    const CapKey hour = key_of(CapWindow::kHour, CapKind::kCalendar, offset);
    EXPECT_EQ(bucket_at(hour, monday - 1) + 1, bucket_at(hour, monday)) << offset;
    EXPECT_EQ(bucket_at(hour, monday), bucket_at(hour, monday + kHour - 1)) << offset;
  }
}

TEST(CapWindow, TheHourThatAClockIsSetBackIsTwoWindows) {
  const CapKey summer = key_of(CapWindow::kHour, CapKind::kCalendar, 7200);
  const CapKey winter = key_of(CapWindow::kHour, CapKind::kCalendar, 3600);
  EXPECT_EQ(bucket_at(summer, kMonday - 1) + 1, bucket_at(winter, kMonday));
}

TEST(CapWindow, ADayIsOneWindowAcrossAChangeOfTheOffset) {
  // Berlin, 2026-10-25: at 01:00 UTC the offset falls from two hours to one.
  const int64_t change = 1'792'890'000;
  const auto day = [](int64_t at, int32_t offset) {
    return bucket_at(key_of(CapWindow::kDay, CapKind::kCalendar, offset), at);
  };
  const uint32_t bucket = day(change - 1, 7200);
  EXPECT_EQ(bucket, day(change, 3600));
  EXPECT_EQ(bucket, day(change - 3 * kHour, 7200));       // 00:00 local
  EXPECT_EQ(bucket, day(change + 22 * kHour - 1, 3600));  // 23:59:59 local
  EXPECT_EQ(bucket + 1, day(change + 22 * kHour, 3600));
  EXPECT_EQ(bucket - 1, day(change - 3 * kHour - 1, 7200));
}

TEST(CapWindow, ASlidingWindowNeverMissesWhatWasShownWithinIt) {
  base::Rng rng(1);
  for (const auto& [window, length] :
       {std::pair{CapWindow::kHour, kHour}, std::pair{CapWindow::kDay, kDay},
        std::pair{CapWindow::kWeek, 7 * kDay}}) {
    const CapKey key = key_of(window, CapKind::kSliding);
    for (int round = 0; round < 200; ++round) {
      CapCounts counts;
      std::vector<int64_t> shown;
      int64_t now = kMonday + static_cast<int64_t>(rng.below(100'000));
      for (int i = 0; i < 60; ++i) {
        now += static_cast<int64_t>(rng.below(static_cast<uint64_t>(length / 10)));
        counts.add(bucket_at(key, now), 1);
        shown.push_back(now);
      }
      const auto within = [&](int64_t span) {
        return static_cast<uint32_t>(
            std::ranges::count_if(shown, [&](int64_t at) { return at > now - span; }));
      };
      const uint32_t total = counts.total(bucket_at(key, now), buckets_of(key));
      EXPECT_GE(total, within(length));
      EXPECT_LE(total, within(length + length / 12));
    }
  }
}

TEST(CapWindow, WhatWasShownLeavesASlidingWindowWithTheThirteenthPartAfterIt) {
  for (const auto& [window, length] :
       {std::pair{CapWindow::kHour, kHour}, std::pair{CapWindow::kDay, kDay},
        std::pair{CapWindow::kWeek, 7 * kDay}}) {
    const CapKey key = key_of(window, CapKind::kSliding);
    const int64_t part = length / 12;
    const int64_t begin = kMonday - kMonday % part;
    for (const int64_t into : {int64_t{0}, part / 2, part - 1}) {
      CapCounts counts;
      counts.add(bucket_at(key, begin + into), 1);
      const auto total = [&](int64_t at) {
        return counts.total(bucket_at(key, at), buckets_of(key));
      };
      EXPECT_EQ(total(begin + into + length - 1), 1U) << length << ' ' << into;
      EXPECT_EQ(total(begin + 13 * part - 1), 1U) << length << ' ' << into;
      EXPECT_EQ(total(begin + 13 * part), 0U) << length << ' ' << into;
      counts.add(bucket_at(key, begin + 12 * part), 1);
      EXPECT_EQ(total(begin + 13 * part - 1), 2U) << "and another one since";
      EXPECT_EQ(total(begin + 13 * part), 1U);
    }
  }
}

TEST(CapWindow, CountsRollWhenTheyAreLookedAt) {
  const CapKey key = key_of(CapWindow::kHour);
  CapCounts counts;
  counts.add(bucket_at(key, kMonday + 59 * 60), 3);
  EXPECT_EQ(counts.total(bucket_at(key, kMonday + 59 * 60 + 59), 1), 3U);
  EXPECT_EQ(counts.total(bucket_at(key, kMonday + kHour), 1), 0U);
}

TEST(CapWindow, AClockThatStepsBackMakesNoCountVanish) {
  const CapKey key = key_of(CapWindow::kHour);
  CapCounts counts;
  counts.add(bucket_at(key, kMonday + kHour), 2);
  counts.add(bucket_at(key, kMonday), 1);
  EXPECT_EQ(counts.total(bucket_at(key, kMonday), 1), 3U);
  EXPECT_EQ(counts.total(bucket_at(key, kMonday + kHour), 1), 3U);
}

TEST(CapWindow, MergingTakesTheLargerOfEachBucketWhateverTheOrder) {
  CapCounts a;
  a.add(100, 3);
  a.add(102, 1);
  CapCounts b;
  b.add(100, 2);
  b.add(101, 5);
  CapCounts ab = a;
  ab.merge_max(b);
  CapCounts ba = b;
  ba.merge_max(a);
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab.total(102, 13), 3U + 5U + 1U);
  EXPECT_EQ(ab.total(102, 1), 1U);
  CapCounts again = ab;
  again.merge_max(b);
  EXPECT_EQ(again, ab);
}

TEST(CapWindow, CountsSurviveTheirTextForm) {
  base::Rng rng(2);
  for (int round = 0; round < 2'000; ++round) {
    CapCounts counts;
    uint32_t bucket = static_cast<uint32_t>(rng.below(1'000'000));
    for (uint64_t i = rng.below(20); i > 0; --i) {
      bucket += static_cast<uint32_t>(rng.below(4));
      counts.add(bucket, static_cast<uint32_t>(rng.below(50'000)));
    }
    std::string text;
    counts.append(text);
    CapCounts read;
    ASSERT_TRUE(read.parse(text)) << text;
    EXPECT_EQ(read.total(bucket, 13), counts.total(bucket, 13)) << text;
    EXPECT_EQ(read.total(bucket, 1), counts.total(bucket, 1)) << text;
  }
}

TEST(CapWindow, TextThatIsNoCountsChangesNothing) {
  for (const std::string_view text :
       {"x", "1", "1:", ":1", "1:2,3:4", "5:1,5:1", "1:2;0:1", "-1:2", "1:-2", "1:2 ",
        "99999999999:1", "1:99999999999", "18446744073709551616:1"}) {
    CapCounts counts;
    counts.add(7, 3);
    const CapCounts before = counts;
    EXPECT_FALSE(counts.parse(text)) << text;
    EXPECT_EQ(counts, before);
  }
  CapCounts counts;
  EXPECT_TRUE(counts.parse(""));
  EXPECT_TRUE(counts.parse("9:4000000000"));
  EXPECT_EQ(counts.total(9, 1), 65'535U);
}

}  // namespace
}  // namespace spillway::bidder::caps
