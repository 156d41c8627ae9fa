#include "adapters/redis_outcome.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "adapters/redis_client.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::adapters {

namespace {

using resilience::Outcome;

/// Errors are told by their first word.
Outcome of_error(std::string_view text) {
  constexpr std::array<std::string_view, 5> kNotAllowed{"NOAUTH", "WRONGPASS", "NOPERM", "DENIED",
                                                        "EXECABORT"};
  constexpr std::array<std::string_view, 3> kOurRequest{"ERR", "WRONGTYPE", "NOSCRIPT"};
  const std::string_view word = text.substr(0, text.find(' '));
  if (is_read_only(text)) {
    return Outcome::kServerError;
  }
  if (std::ranges::find(kNotAllowed, word) != kNotAllowed.end()) {
    return Outcome::kMisconfigured;
  }
  if (std::ranges::find(kOurRequest, word) != kOurRequest.end()) {
    return Outcome::kRejectedByPeer;
  }
  return Outcome::kServerError;  // LOADING BUSY MASTERDOWN OOM MISCONF NOREPLICAS CLUSTERDOWN …
}

Outcome of_timeout(const resilience::Terms& terms) {
  return terms.offered >= terms.fair ? Outcome::kTimeout : Outcome::kShort;
}

}  // namespace

bool is_read_only(std::string_view error_text) { return error_text.contains("READONLY"); }

resilience::Outcome classify(const RedisEnd& end, const resilience::Terms& terms) {
  const bool slow = terms.slow_after > base::Duration::zero() && end.elapsed > terms.slow_after &&
                    terms.offered >= terms.fair;
  if (end.answered) {
    return slow ? Outcome::kSlow : Outcome::kOk;
  }
  switch (end.error) {
    case RedisErrc::kErrorReply:
      return of_error(end.error_text);
    case RedisErrc::kTimeout:
      return of_timeout(terms);
    case RedisErrc::kRefused:
      return Outcome::kRefused;
    case RedisErrc::kLost:
      return Outcome::kReset;
    case RedisErrc::kTls:
      return Outcome::kTls;
    case RedisErrc::kProtocol:
      return Outcome::kMalformed;
    case RedisErrc::kCancelled:
      return slow ? Outcome::kCancelledSlow : Outcome::kCancelled;
    case RedisErrc::kCircuitOpen:
    case RedisErrc::kBusy:
    case RedisErrc::kTooLate:
      return Outcome::kNotSent;
  }
  return Outcome::kAbandoned;
}

}  // namespace spillway::adapters
