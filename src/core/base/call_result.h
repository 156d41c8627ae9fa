#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace spillway::base {

/// How far a call to a dependency got.
enum class CallPhase : uint8_t {
  kNotSent,    ///< No byte left us: no connection free, over a budget, no address.
  kConnect,    ///< Resolving, connecting or shaking hands.
  kSend,       ///< Request bytes under way.
  kFirstByte,  ///< Request sent, no answer byte yet.
  kBody,       ///< Some answer bytes seen, not all.
  kDone,       ///< A whole answer was read.
};

/// What ended the call. kNone with kDone is the only complete answer.
enum class CallError : uint8_t {
  kNone,
  kTimeout,       ///< The deadline passed in `phase`.
  kRefused,       ///< Connection refused or host unreachable.
  kReset,         ///< Reset or closed by the peer before the answer was whole.
  kTls,           ///< Handshake or record failure.
  kDns,           ///< No address was ever known for the name.
  kProtocol,      ///< The bytes are no HTTP answer, or break its framing rules.
  kTooLarge,      ///< Header or body over the cap.
  kNoConnection,  ///< The pool is at `max_connections`, or its handshakes are all busy.
  kNoBudget,      ///< The worker's byte budget is exhausted.
  kCancelled,     ///< The caller went away or no longer wants the answer.
};

/// The one record `net` gives of every call. Pure code turns it into an outcome.
struct CallResult {
  CallPhase phase = CallPhase::kNotSent;
  CallError error = CallError::kNone;
  uint16_t status = 0;   ///< HTTP status; 0 before the status line was read.
  bool reused = false;   ///< Went out on a connection that had served before.
  bool retried = false;  ///< A stale reused connection was replaced by a fresh one.
  size_t sent_bytes = 0;
  size_t received_bytes = 0;  ///< Answer bytes, header included.
  Duration retry_after{};     ///< From `Retry-After`, clamped to [0, 5 min]; zero when absent.
  Instant started_at{};       ///< When the call was handed to `net`.
  Instant ended_at{};         ///< When a whole answer could first have been read, else when the
                              ///< call was settled; `ended_at - started_at` is its time.
  Duration connect_time{};    ///< Spent getting a connection; zero when one was waiting.
  uint64_t host = 0;          ///< What the target's host choice made of the address it went to, for
                              ///< the outcome to be told by; 0: nothing to tell. Not recorded.

  [[nodiscard]] Duration elapsed() const { return ended_at - started_at; }
};

}  // namespace spillway::base
