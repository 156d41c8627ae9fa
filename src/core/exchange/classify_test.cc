#include "exchange/classify.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {
namespace {

using base::CallError;
using base::CallPhase;
using base::CallResult;
using resilience::Outcome;
using resilience::Terms;
using std::chrono::milliseconds;

constexpr Terms kFair{
    .offered = milliseconds(100), .fair = milliseconds(100), .slow_after = milliseconds(80)};
constexpr Terms kUnfair{
    .offered = milliseconds(99), .fair = milliseconds(100), .slow_after = milliseconds(80)};
constexpr AnswerKind kAnswers[] = {AnswerKind::kNone, AnswerKind::kNoBid, AnswerKind::kBids,
                                   AnswerKind::kMalformed};
constexpr milliseconds kQuick{80};
constexpr milliseconds kSlow{81};

CallResult done(uint16_t status, base::Duration elapsed = kQuick) {
  CallResult result{.phase = CallPhase::kDone, .status = status};
  result.ended_at = result.started_at + elapsed;
  return result;
}

CallResult failed(CallPhase phase, CallError error, base::Duration elapsed = kQuick) {
  CallResult result{.phase = phase, .error = error};
  result.ended_at = result.started_at + elapsed;
  return result;
}

TEST(ClassifyTest, BidsAndEverySpellingOfNoAreOk) {
  EXPECT_EQ(classify(done(200), AnswerKind::kBids, kFair), Outcome::kOk);
  EXPECT_EQ(classify(done(200), AnswerKind::kNoBid, kFair), Outcome::kOk);
  EXPECT_EQ(classify(done(204), AnswerKind::kNone, kFair), Outcome::kOk);
  EXPECT_EQ(classify(done(204), AnswerKind::kNoBid, kFair), Outcome::kOk);
}

TEST(ClassifyTest, AnAnswerOverTheSlowLineIsSlowWhenTheTimeGivenWasFair) {
  EXPECT_EQ(classify(done(200, kSlow), AnswerKind::kBids, kFair), Outcome::kSlow);
  EXPECT_EQ(classify(done(204, kSlow), AnswerKind::kNone, kFair), Outcome::kSlow);
  EXPECT_EQ(classify(done(200, kSlow), AnswerKind::kBids, kUnfair), Outcome::kOk);
  EXPECT_EQ(classify(done(200, kSlow), AnswerKind::kBids, Terms{}), Outcome::kOk)
      << "no line, not slow";
}

TEST(ClassifyTest, A200ThatIsNoBidResponseIsMalformed) {
  EXPECT_EQ(classify(done(200), AnswerKind::kMalformed, kFair), Outcome::kMalformed);
  EXPECT_EQ(classify(done(200), AnswerKind::kNone, kFair), Outcome::kMalformed);
  EXPECT_EQ(classify(failed(CallPhase::kBody, CallError::kTooLarge), AnswerKind::kNone, kFair),
            Outcome::kMalformed);
  EXPECT_EQ(classify(failed(CallPhase::kBody, CallError::kProtocol), AnswerKind::kNone, kFair),
            Outcome::kMalformed);
}

TEST(ClassifyTest, AStatusHasOneOutcomeWhateverTheBody) {
  struct Row {
    std::set<uint16_t> statuses;
    Outcome outcome;
  };

  const Row rows[] = {
      {.statuses = {429}, .outcome = Outcome::kOverload},
      {.statuses = {400, 413, 422, 406, 411, 412, 414, 415, 417, 428, 431},
       .outcome = Outcome::kRejectedByPeer},
      {.statuses = {401, 402, 403, 404, 405, 407, 410, 418, 426, 451},
       .outcome = Outcome::kMisconfigured},
      {.statuses = {300, 301, 302, 303, 307, 308}, .outcome = Outcome::kMisconfigured},
      {.statuses = {408, 500, 501, 502, 503, 504, 505, 520, 599}, .outcome = Outcome::kServerError},
      {.statuses = {0, 42, 100, 101, 201, 202, 206, 299, 600, 999, 65'535},
       .outcome = Outcome::kMalformed},
  };
  for (const Row& row : rows) {
    for (const uint16_t status : row.statuses) {
      for (const AnswerKind answer : kAnswers) {
        EXPECT_EQ(classify(done(status, kQuick), answer, kFair), row.outcome) << status;
        EXPECT_EQ(classify(done(status, kSlow), answer, kFair), row.outcome) << status;
      }
    }
  }
}

TEST(ClassifyTest, A503ThatNamesAPauseIsOverload) {
  CallResult result = done(503);
  EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kServerError);
  result.retry_after = std::chrono::seconds(1);
  EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kOverload);
  result.status = 500;
  EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kServerError);
}

TEST(ClassifyTest, ATimeoutIsBlamedOnlyWhenTheTimeGivenWasFair) {
  for (const CallPhase phase :
       {CallPhase::kConnect, CallPhase::kSend, CallPhase::kFirstByte, CallPhase::kBody}) {
    const CallResult result = failed(phase, CallError::kTimeout);
    EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kTimeout);
    EXPECT_EQ(classify(result, AnswerKind::kNone, kUnfair), Outcome::kShort);
  }
}

TEST(ClassifyTest, WhatNeverLeftUsIsNobodysFault) {
  for (const CallError error : {CallError::kTimeout, CallError::kCancelled,
                                CallError::kNoConnection, CallError::kNoBudget}) {
    EXPECT_EQ(classify(failed(CallPhase::kNotSent, error, kSlow), AnswerKind::kNone, kFair),
              Outcome::kNotSent);
  }
}

TEST(ClassifyTest, TransportFailuresKeepTheirNames) {
  const auto outcome = [](CallPhase phase, CallError error) {
    return classify(failed(phase, error), AnswerKind::kNone, kFair);
  };
  EXPECT_EQ(outcome(CallPhase::kConnect, CallError::kRefused), Outcome::kRefused);
  EXPECT_EQ(outcome(CallPhase::kNotSent, CallError::kDns), Outcome::kRefused);
  EXPECT_EQ(outcome(CallPhase::kConnect, CallError::kTls), Outcome::kTls);
  EXPECT_EQ(outcome(CallPhase::kFirstByte, CallError::kReset), Outcome::kReset);
  EXPECT_EQ(outcome(CallPhase::kBody, CallError::kReset), Outcome::kReset);
}

TEST(ClassifyTest, AStaleConnectionWithoutTimeForItsRetryIsNobodysFault) {
  CallResult result = failed(CallPhase::kFirstByte, CallError::kReset);
  result.reused = true;
  EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kNotSent);
  result.retried = true;
  EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kReset);
  result.retried = false;
  result.received_bytes = 1;
  EXPECT_EQ(classify(result, AnswerKind::kNone, kFair), Outcome::kReset);
}

TEST(ClassifyTest, ACancelledCallIsBlamedOnceItIsOverTheSlowLine) {
  const auto outcome = [](base::Duration elapsed, const Terms& terms) {
    return classify(failed(CallPhase::kFirstByte, CallError::kCancelled, elapsed),
                    AnswerKind::kNone, terms);
  };
  EXPECT_EQ(outcome(kQuick, kFair), Outcome::kCancelled);
  EXPECT_EQ(outcome(kSlow, kFair), Outcome::kCancelledSlow);
  EXPECT_EQ(outcome(kSlow, kUnfair), Outcome::kCancelled);
}

/// Calls `visit` for every combination of the enumerators and flags that classification reads.
template <typename Visit>
void for_every_input(Visit visit) {
  constexpr int kStatuses[] = {0, 200, 204, 302, 400, 404, 408, 429, 500, 503};
  constexpr int kPhases = static_cast<int>(CallPhase::kDone) + 1;
  constexpr int kErrors = static_cast<int>(CallError::kCancelled) + 1;
  for (const int status : kStatuses) {
    for (int i = 0; i < kPhases * kErrors * 64; ++i) {
      const int flags = i % 64;
      const auto phase = static_cast<CallPhase>(i / 64 % kPhases);
      const auto error = static_cast<CallError>(i / 64 / kPhases);
      CallResult result = failed(phase, error, (flags & 1) != 0 ? kSlow : kQuick);
      result.status = static_cast<uint16_t>(status);
      result.reused = (flags & 2) != 0;
      result.retried = (flags & 4) != 0;
      result.received_bytes = (flags & 8) != 0 ? 1 : 0;
      result.retry_after = std::chrono::seconds((flags & 16) != 0 ? 1 : 0);
      visit(result, (flags & 32) != 0 ? kFair : kUnfair);
    }
  }
}

TEST(ClassifyTest, EveryInputHasAnOutcomeAndOnlyOurOwnBugIsAbandoned) {
  std::set<Outcome> seen;
  for_every_input([&seen](const CallResult& result, const Terms& terms) {
    for (const AnswerKind answer : kAnswers) {
      const Outcome outcome = classify(result, answer, terms);
      seen.insert(outcome);
      ASSERT_LT(static_cast<int>(outcome), resilience::kOutcomes);
      const bool half_done = result.error == CallError::kNone && result.phase != CallPhase::kDone;
      ASSERT_EQ(outcome == Outcome::kAbandoned, half_done);
    }
  });
  EXPECT_EQ(seen.size(), static_cast<size_t>(resilience::kOutcomes)) << "all are reached";
}

TEST(ClassifyTest, BlameForTimeNeverFallsOnACallThatWasGivenTooLittle) {
  for_every_input([](const CallResult& result, const Terms& terms) {
    const Outcome outcome = classify(result, AnswerKind::kBids, terms);
    const bool for_time = outcome == Outcome::kSlow || outcome == Outcome::kTimeout ||
                          outcome == Outcome::kCancelledSlow;
    ASSERT_FALSE(for_time && terms.offered < terms.fair);
    ASSERT_FALSE(outcome == Outcome::kShort && terms.offered >= terms.fair);
  });
}

TEST(ClassifyTest, OnlyACompleteAnswerIsGood) {
  for_every_input([](const CallResult& result, const Terms& terms) {
    if (classify(result, AnswerKind::kBids, terms) == Outcome::kOk) {
      ASSERT_EQ(result.phase, CallPhase::kDone);
      ASSERT_EQ(result.error, CallError::kNone);
      ASSERT_TRUE(result.status == 200 || result.status == 204);
    }
  });
}

}  // namespace
}  // namespace spillway::exchange
