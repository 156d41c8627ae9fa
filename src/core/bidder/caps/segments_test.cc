#include "bidder/caps/segments.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "bidder/caps/user.h"

namespace spillway::bidder::caps {
namespace {

using namespace std::chrono_literals;

UserHash user_of(uint64_t number) { return hash_user("test", std::to_string(number)).value(); }

class SegmentCacheTest : public ::testing::Test {
 protected:
  std::vector<uint64_t> answer(const UserHash& user, SegmentState state,
                               std::string_view ids = {}) {
    std::vector<uint64_t> waited;
    cache_.on_answer(user, {.state = state, .ids = ids}, now_, waited);
    return waited;
  }

  SegmentCache::Look look(const UserHash& user, uint64_t tag = 0) {
    return cache_.look(user, tag, now_, found_);
  }

  SegmentCache cache_{{.bytes = 64 << 10, .ttl = 60s, .unknown_ttl = 10s, .max_waiting = 3}};
  base::Instant now_{1h};
  Segments found_;
  UserHash user_ = user_of(1);
};

TEST_F(SegmentCacheTest, CouldNotAskNoSuchUserAndNoSegmentsAreThreeThings) {
  EXPECT_EQ(look(user_), SegmentCache::Look::kRead);
  (void)answer(user_, SegmentState::kNoSuchUser);
  EXPECT_EQ(look(user_), SegmentCache::Look::kHit);
  EXPECT_EQ(found_.state, SegmentState::kNoSuchUser);

  EXPECT_EQ(look(user_of(2)), SegmentCache::Look::kRead);
  (void)answer(user_of(2), SegmentState::kKnown, "");
  EXPECT_EQ(look(user_of(2)), SegmentCache::Look::kHit);
  EXPECT_EQ(found_.state, SegmentState::kKnown);
  EXPECT_EQ(found_.ids, "");
}

// Defect 3.4.7 of the reference: an open breaker was remembered as "no segments".
TEST_F(SegmentCacheTest, CouldNotAskIsNeverRemembered) {
  EXPECT_EQ(look(user_), SegmentCache::Look::kRead);
  (void)answer(user_, SegmentState::kCouldNotAsk);
  EXPECT_EQ(look(user_), SegmentCache::Look::kRead);
  (void)answer(user_, SegmentState::kKnown, "a\nb");
  now_ += 61s;
  EXPECT_EQ(look(user_), SegmentCache::Look::kRead) << "expired";
  (void)answer(user_, SegmentState::kCouldNotAsk);
  EXPECT_EQ(look(user_), SegmentCache::Look::kRead) << "nor is the old answer taken for it";
  EXPECT_EQ(cache_.counters().could_not_ask, 2U);
}

TEST_F(SegmentCacheTest, OneReadAUserAtATimeAndAllWhoWaitAreAnswered) {
  EXPECT_EQ(look(user_, 1), SegmentCache::Look::kRead);
  EXPECT_EQ(look(user_, 2), SegmentCache::Look::kWait);
  EXPECT_EQ(look(user_, 3), SegmentCache::Look::kWait);
  EXPECT_EQ(look(user_of(2), 9), SegmentCache::Look::kRead);
  EXPECT_EQ(answer(user_, SegmentState::kKnown, "a"), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(look(user_, 4), SegmentCache::Look::kHit);
  EXPECT_EQ(cache_.counters().reads, 2U);
  EXPECT_EQ(cache_.counters().joined, 2U);
}

TEST_F(SegmentCacheTest, TooManyWhoWaitGoOnWithout) {
  EXPECT_EQ(look(user_, 1), SegmentCache::Look::kRead);
  for (uint64_t tag = 2; tag < 5; ++tag) {
    EXPECT_EQ(look(user_, tag), SegmentCache::Look::kWait);
  }
  EXPECT_EQ(look(user_, 5), SegmentCache::Look::kFull);
  EXPECT_EQ(answer(user_, SegmentState::kCouldNotAsk).size(), 3U);
}

TEST_F(SegmentCacheTest, AnswersLastForTheirTimeAndUnknownUsersForLess) {
  (void)look(user_);
  (void)answer(user_, SegmentState::kKnown, "a");
  (void)look(user_of(2));
  (void)answer(user_of(2), SegmentState::kNoSuchUser);
  now_ += 9s;
  EXPECT_EQ(look(user_of(2)), SegmentCache::Look::kHit);
  now_ += 1s;
  EXPECT_EQ(look(user_of(2)), SegmentCache::Look::kRead);
  now_ += 49s;
  EXPECT_EQ(look(user_), SegmentCache::Look::kHit);
  now_ += 1s;
  EXPECT_EQ(look(user_), SegmentCache::Look::kRead);
}

TEST_F(SegmentCacheTest, IsBoundedByBytesAndForgetsTheOldestFirst) {
  const std::string ids(1'000, 'x');
  for (uint64_t i = 0; i < 1'000; ++i) {
    (void)look(user_of(i));
    (void)answer(user_of(i), SegmentState::kKnown, ids);
    EXPECT_LE(cache_.entries() * (ids.size() + 160), 64U << 10);
  }
  EXPECT_EQ(look(user_of(999)), SegmentCache::Look::kHit);
  EXPECT_EQ(found_.ids, ids);
  EXPECT_EQ(look(user_of(0)), SegmentCache::Look::kRead);
  EXPECT_GT(cache_.counters().evicted, 900U);
}

TEST_F(SegmentCacheTest, ReadingOneUserAgainAndAgainTakesNoMoreMemory) {
  const std::string ids(1'000, 'x');
  (void)look(user_of(7));
  (void)answer(user_of(7), SegmentState::kKnown, "kept");
  for (int i = 0; i < 200; ++i) {
    now_ += 100ms;
    (void)answer(user_, SegmentState::kKnown, ids);
  }
  EXPECT_EQ(look(user_of(7)), SegmentCache::Look::kHit);
  EXPECT_EQ(look(user_), SegmentCache::Look::kHit);
  EXPECT_EQ(found_.ids, ids);
  EXPECT_EQ(cache_.entries(), 2U);
}

TEST_F(SegmentCacheTest, AnAnswerTooLargeIsUsedAndNotKept) {
  (void)look(user_, 1);
  EXPECT_EQ(look(user_, 2), SegmentCache::Look::kWait);
  EXPECT_EQ(answer(user_, SegmentState::kKnown, std::string(60'000, 'x')).size(), 1U);
  EXPECT_EQ(cache_.counters().too_large, 1U);
  EXPECT_EQ(cache_.entries(), 0U);
}

TEST(Segments, AreOneALine) {
  std::vector<std::string> ids;
  Segments{.state = SegmentState::kKnown, .ids = "a\n\nb c\n7"}.for_each(
      [&](std::string_view id) { ids.emplace_back(id); });
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b c", "7"}));
}

}  // namespace
}  // namespace spillway::bidder::caps
