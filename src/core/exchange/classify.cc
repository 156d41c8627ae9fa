#include "exchange/classify.h"

#include <cstdint>

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

/// Blame needs time: a dependency that was given less than it fairly needs is not charged.
bool fairly_given(const Terms& terms) { return terms.offered >= terms.fair; }

bool over_the_slow_line(const CallResult& result, const Terms& terms) {
  return terms.slow_after > base::Duration::zero() && result.elapsed() > terms.slow_after &&
         fairly_given(terms);
}

Outcome of_client_error(uint16_t status) {
  switch (status) {
    case 429:
      return Outcome::kOverload;
    case 400:
    case 413:
    case 422:
    // The same complaint about our request in rarer words.
    case 406:
    case 411:
    case 412:
    case 414:
    case 415:
    case 417:
    case 428:
    case 431:
      return Outcome::kRejectedByPeer;
    case 408:  // The peer says that its own patience ran out.
      return Outcome::kServerError;
    default:  // 401 403 404 405, and what else only a person can set right (402, 407, 410, 451).
      return Outcome::kMisconfigured;
  }
}

Outcome of_complete(const CallResult& result, AnswerKind answer, const Terms& terms) {
  const uint16_t status = result.status;
  if (status == 200 || status == 204) {
    const bool readable =
        status == 204 || answer == AnswerKind::kNoBid || answer == AnswerKind::kBids;
    if (!readable) {
      return Outcome::kMalformed;
    }
    return over_the_slow_line(result, terms) ? Outcome::kSlow : Outcome::kOk;
  }
  if (status >= 300 && status < 400) {
    return Outcome::kMisconfigured;  // Redirects are never followed: the configured URL is wrong.
  }
  if (status >= 400 && status < 500) {
    return of_client_error(status);
  }
  if (status >= 500 && status < 600) {
    const bool asks_for_a_pause = status == 503 && result.retry_after > base::Duration::zero();
    return asks_for_a_pause ? Outcome::kOverload : Outcome::kServerError;
  }
  return Outcome::kMalformed;  // 1xx, other 2xx and numbers HTTP does not know: no bid response.
}

Outcome of_reset(const CallResult& result) {
  // An idle connection the peer had closed already, and no time was left for the retry: the
  // request reached nobody, nobody is to blame.
  const bool stale = result.reused && !result.retried && result.received_bytes == 0;
  return stale ? Outcome::kNotSent : Outcome::kReset;
}

}  // namespace

Outcome classify(const CallResult& result, AnswerKind answer, const Terms& terms) {
  const bool sent = result.phase != CallPhase::kNotSent;
  switch (result.error) {
    case CallError::kNone:
      if (result.phase == CallPhase::kDone) {
        return of_complete(result, answer, terms);
      }
      break;  // Neither whole nor failed: a bug of ours, nobody's fault.
    case CallError::kTimeout:
      if (!sent) {
        return Outcome::kNotSent;
      }
      return fairly_given(terms) ? Outcome::kTimeout : Outcome::kShort;
    case CallError::kRefused:
    case CallError::kDns:
      return Outcome::kRefused;
    case CallError::kReset:
      return of_reset(result);
    case CallError::kTls:
      return Outcome::kTls;
    case CallError::kProtocol:
    case CallError::kTooLarge:
      return Outcome::kMalformed;
    case CallError::kNoConnection:
    case CallError::kNoBudget:
      return Outcome::kNotSent;
    case CallError::kCancelled:
      if (!sent) {
        return Outcome::kNotSent;
      }
      return over_the_slow_line(result, terms) ? Outcome::kCancelledSlow : Outcome::kCancelled;
  }
  return Outcome::kAbandoned;
}

}  // namespace spillway::exchange
