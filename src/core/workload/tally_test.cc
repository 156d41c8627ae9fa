#include "workload/tally.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "workload/arrivals.h"
#include "workload/rate_profile.h"

namespace spillway::workload {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

AnswerKind kind(uint16_t status, std::string_view body) {
  openrtb::Document document;
  const openrtb::Padded padded(body);
  return kind_of(document, status, padded.view());
}

TEST(Tally, AStallOfOneSecondInTenShowsItsAnalyticPercentiles) {
  // 1 000/s for 10 s; the server answers in 1 ms but does nothing from 5 s to 6 s. A tenth of the
  // requests wait uniformly up to 1 s: p99 is the 90th percentile of those, 0.9 s; p95 0.5 s.
  Tally tally(10ms);
  Arrivals arrivals({.profile = RateProfile::constant(1000, 10s)}, kStart, 1);
  while (const auto due = arrivals.next()) {
    tally.offer();
    const bool stalled = *due >= kStart + 5s && *due < kStart + 6s;
    const base::Instant served = stalled ? kStart + 6s : *due;
    tally.record({.due = *due,
                  .sent = *due,
                  .ended = served + 1ms,
                  .status = 200,
                  .ending = Ending::k2xx,
                  .answer = AnswerKind::kBid});
    arrivals.pop();
  }
  EXPECT_NEAR(base::to_ms(tally.latency().quantile(0.99)), 900, 9);
  EXPECT_NEAR(base::to_ms(tally.latency().quantile(0.95)), 500, 6);
  EXPECT_NEAR(base::to_ms(tally.latency().quantile(0.85)), 1, 0.1);
}

TEST(Tally, LatencyCountsFromTheDueTimeWhenTheSenderIsLate) {
  Tally tally(10ms);
  tally.offer();
  tally.record({.due = kStart,
                .sent = kStart + 40ms,
                .ended = kStart + 50ms,
                .status = 200,
                .ending = Ending::k2xx,
                .answer = AnswerKind::kBid});
  EXPECT_NEAR(base::to_ms(tally.latency().quantile(0.5)), 50, 1);
  EXPECT_EQ(tally.late(), 1);
}

TEST(Tally, TimeoutsAreInThePercentilesWithTheTimeTheyTook) {
  Tally tally(10ms);
  for (int i = 0; i < 100; ++i) {
    tally.offer();
    const bool stuck = i < 10;
    tally.record({.due = kStart,
                  .sent = kStart,
                  .ended = kStart + (stuck ? 500ms : 5ms),
                  .status = static_cast<uint16_t>(stuck ? 0 : 204),
                  .ending = stuck ? Ending::kTimeout : Ending::k2xx,
                  .answer = stuck ? AnswerKind::kNone : AnswerKind::kNoBid});
  }
  EXPECT_NEAR(base::to_ms(tally.latency().quantile(0.95)), 500, 10);
  EXPECT_EQ(tally.latency(Ending::kTimeout).total(), 10);
  EXPECT_EQ(tally.ended(), 100);
}

TEST(Tally, LateAndDroppedArrivalsMakeTheMissedRatio) {
  Tally tally(10ms);
  for (int i = 0; i < 98; ++i) {
    tally.offer();
    tally.record({.due = kStart,
                  .sent = kStart + 10ms,
                  .ended = kStart + 11ms,
                  .status = 200,
                  .ending = Ending::k2xx,
                  .answer = AnswerKind::kBid});
  }
  EXPECT_EQ(tally.missed_ratio(), 0) << "exactly at the bound is not late";
  tally.offer();
  tally.drop();
  tally.offer();
  tally.record({.due = kStart,
                .sent = kStart + 11ms,
                .ended = kStart + 12ms,
                .status = 200,
                .ending = Ending::k2xx,
                .answer = AnswerKind::kBid});
  EXPECT_DOUBLE_EQ(tally.missed_ratio(), 0.02);
}

TEST(Tally, ARefusalOfARequestBrokenOnPurposeIsNoErrorAndAnythingElseIs) {
  Tally tally(10ms);
  const auto record = [&](bool valid, uint16_t status, Ending ending) {
    tally.record({.due = kStart,
                  .sent = kStart,
                  .ended = kStart + 1ms,
                  .status = status,
                  .ending = ending,
                  .answer = AnswerKind::kError,
                  .valid = valid});
  };
  record(false, 400, Ending::k4xx);
  EXPECT_EQ(tally.failed(), 0);
  record(true, 400, Ending::k4xx);
  record(false, 500, Ending::k5xx);
  record(false, 0, Ending::kTimeout);
  EXPECT_EQ(tally.failed(), 3);
  EXPECT_EQ(tally.broken(), 3);
  EXPECT_DOUBLE_EQ(tally.error_ratio(), 0.75);
}

TEST(Tally, ADeadlineIsMissedFromTheSendingNotForOurOwnLag) {
  Tally tally(10ms);
  const auto record = [&](base::Duration lag, base::Duration took, uint16_t status) {
    tally.record({.due = kStart,
                  .sent = kStart + lag,
                  .ended = kStart + lag + took,
                  .status = status,
                  .ending = status == 0 ? Ending::kTimeout : Ending::k2xx,
                  .tmax = 100ms});
  };
  record(50ms, 100ms, 204);
  EXPECT_EQ(tally.over_tmax(), 0);
  record(0ms, 101ms, 204);
  record(0ms, 50ms, 0);
  EXPECT_EQ(tally.over_tmax(), 2);
}

TEST(Tally, TheMergeOfWorkersIsTheTallyOfAll) {
  Tally parts[2] = {Tally(10ms), Tally(10ms)};
  for (int i = 0; i < 10; ++i) {
    Tally& tally = parts[i % 2];
    tally.offer();
    tally.record({.due = kStart,
                  .sent = kStart + 20ms,
                  .ended = kStart + 30ms,
                  .status = 200,
                  .ending = Ending::k2xx,
                  .answer = AnswerKind::kBid});
  }
  parts[1].offer();
  parts[1].drop();
  parts[0].merge(parts[1]);
  EXPECT_EQ(parts[0].offered(), 11);
  EXPECT_EQ(parts[0].ended(), 10);
  EXPECT_EQ(parts[0].late(), 10);
  EXPECT_EQ(parts[0].dropped(), 1);
  EXPECT_EQ(parts[0].status(200), 10);
  EXPECT_EQ(parts[0].latency(Ending::k2xx).total(), 10);
  EXPECT_DOUBLE_EQ(parts[0].bid_ratio(), 1);
}

TEST(Tally, TellsBidsFromHouseAdsFromNoBids) {
  EXPECT_EQ(kind(204, ""), AnswerKind::kNoBid);
  EXPECT_EQ(kind(200, R"({"id":"1","nbr":2})"), AnswerKind::kNoBid);
  EXPECT_EQ(kind(200, R"({"id":"1","seatbid":[]})"), AnswerKind::kNoBid);
  EXPECT_EQ(kind(200, R"({"seatbid":[{"bid":[{"id":"b","price":1}]}]})"), AnswerKind::kBid);
  EXPECT_EQ(kind(200, R"({"seatbid":[{"bid":[{"id":"b","ext":{"house":1}}]}]})"),
            AnswerKind::kHouse);
  EXPECT_EQ(kind(200, R"({"seatbid":[{"bid":[{"ext":{"house":1}}]},{"bid":[{"id":"b"}]}]})"),
            AnswerKind::kBid);
  EXPECT_EQ(kind(200, "<html>"), AnswerKind::kInvalid);
  EXPECT_EQ(kind(400, "{}"), AnswerKind::kError);
  EXPECT_EQ(kind(0, ""), AnswerKind::kNone);
}

TEST(Tally, EveryEndOfACallHasAClass) {
  const auto ending = [](base::CallError error, uint16_t status) {
    return ending_of({.phase = base::CallPhase::kDone, .error = error, .status = status});
  };
  EXPECT_EQ(ending(base::CallError::kNone, 204), Ending::k2xx);
  EXPECT_EQ(ending(base::CallError::kNone, 429), Ending::k4xx);
  EXPECT_EQ(ending(base::CallError::kNone, 503), Ending::k5xx);
  EXPECT_EQ(ending(base::CallError::kTimeout, 200), Ending::kTimeout) << "half an answer is none";
  EXPECT_EQ(ending(base::CallError::kRefused, 0), Ending::kRefused);
  EXPECT_EQ(ending(base::CallError::kReset, 0), Ending::kReset);
  EXPECT_EQ(ending(base::CallError::kProtocol, 0), Ending::kOther);
}

}  // namespace
}  // namespace spillway::workload
