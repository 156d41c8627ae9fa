#pragma once

#include <cstdint>

#include "base/call_result.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

/// What the body of a 200 turned out to be.
enum class AnswerKind : uint8_t {
  kNone,       ///< No whole answer, or another status.
  kNoBid,      ///< 204, empty, {}, no seatbid, no bid: every spelling of "no".
  kBids,       ///< At least one bid object.
  kMalformed,  ///< No bid response.
};

/// The one outcome of a call to a DSP: DESIGN 3's table, total over every input. `terms` are those
/// of the permit; blame depends on the time the DSP was given.
[[nodiscard]] resilience::Outcome classify(const base::CallResult& result, AnswerKind answer,
                                           const resilience::Terms& terms);

}  // namespace spillway::exchange
