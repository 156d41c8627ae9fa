#include "workload/series.h"

#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

#include "base/time.h"
#include "workload/tally.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

Sample sample(base::Duration due, base::Duration took, Ending ending = Ending::k2xx,
              base::Duration lag = {}) {
  return {.due = kStart + due,
          .sent = kStart + due + lag,
          .ended = kStart + due + took,
          .status = static_cast<uint16_t>(ending == Ending::k2xx ? 200 : 0),
          .ending = ending,
          .answer = ending == Ending::k2xx ? AnswerKind::kBid : AnswerKind::kNone};
}

TEST(Series, ARequestBelongsToTheSecondItWasDueInAndItsAnswerToTheOneItCameIn) {
  Series series(kStart, 3s, 10ms);
  series.offer(kStart + 900ms);
  series.record(sample(900ms, 300ms));
  ASSERT_EQ(series.intervals().size(), 3);
  EXPECT_EQ(series.intervals()[0].ended, 1);
  EXPECT_EQ(series.intervals()[0].answered, 0);
  EXPECT_EQ(series.intervals()[1].answered, 1);
  EXPECT_NEAR(base::to_ms(series.intervals()[0].quantile(0.99)), 300, 3);
}

TEST(Series, AnswersAfterTheScheduleCountInItsLastInterval) {
  Series series(kStart, 2500ms, 10ms);
  series.record(sample(2400ms, 5s));
  EXPECT_EQ(series.intervals().size(), 3);
  EXPECT_EQ(series.intervals()[2].answered, 1);
}

TEST(Series, TheCountOfIntervalsIsBoundedForALongRun) {
  EXPECT_EQ(Series(kStart, 1h, 10ms).intervals().size(), 3600);
  const Series day(kStart, 24h, 10ms);
  EXPECT_EQ(day.interval(), 24s);
  EXPECT_EQ(day.intervals().size(), 3600);
}

TEST(Series, AnIntervalIsMarkedWhenWeWereLateOrBusy) {
  Series series(kStart, 4s, 10ms);
  series.record(sample(100ms, 20ms, Ending::k2xx, 10ms));
  EXPECT_FALSE(series.starved(0)) << "at the bound is not late";
  series.record(sample(1100ms, 20ms, Ending::k2xx, 11ms));
  EXPECT_TRUE(series.starved(1));
  series.note_cpu(kStart + 2500ms, 0.95);
  EXPECT_TRUE(series.starved(2));
  EXPECT_FALSE(series.starved(3));
  EXPECT_EQ(series.starved_count(), 2);
}

TEST(Series, AHoldUpMarksEveryIntervalItReachesOver) {
  Series series(kStart, 5s, 10ms);
  series.note_lag(kStart + 3200ms, 2s);
  EXPECT_FALSE(series.starved(0));
  EXPECT_TRUE(series.starved(1) && series.starved(2) && series.starved(3));
  EXPECT_FALSE(series.starved(4));
}

TEST(Series, TheMergeOfWorkersAddsCountsAndKeepsTheWorstOfTheirLags) {
  Series one(kStart, 2s, 10ms);
  Series two(kStart, 2s, 10ms);
  one.offer(kStart);
  one.record(sample(0ms, 10ms));
  two.offer(kStart);
  two.drop(kStart);
  two.record(sample(0ms, 500ms, Ending::kTimeout));
  two.note_lag(kStart + 5ms, 5ms);
  one.merge(two);
  const Interval& first = one.intervals()[0];
  EXPECT_EQ(first.offered, 2);
  EXPECT_EQ(first.dropped, 1);
  EXPECT_EQ(first.ended, 2);
  EXPECT_EQ(first.failed, 1);
  EXPECT_EQ(first.bids, 1);
  EXPECT_EQ(first.max_lag, 5ms);
  EXPECT_NEAR(base::to_ms(first.quantile(1)), 500, 5);
}

}  // namespace
}  // namespace spillway::workload
