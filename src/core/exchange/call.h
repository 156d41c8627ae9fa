#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/formats.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

/// One candidate's way through an auction: what the guard said, what came back, and the answer
/// itself, kept until the auction is reset (winning bids are written from its bytes).
///
/// Memory: the answer's bytes (at most DspConfig::answer_bytes) and its node table.
struct Call {
  CandidateReport report;
  resilience::Terms terms;
  base::CallError error = base::CallError::kNone;
  uint16_t status = 0;
  std::string request_id;  ///< What the DSP was told; empty: the caller's own.
  std::string body;        ///< The answer and Document::kPadding zero bytes.
  openrtb::Document document;
  clearing::Answer answer;

  /// Forgets the auction, keeps memory up to a bound: one huge answer is not held for ever.
  void reset();
};

/// Which call an answer belongs to.
struct Answering {
  const Snapshot* snapshot = nullptr;
  const openrtb::RequestView* request = nullptr;
  const Account* account = nullptr;
  const Candidate* candidate = nullptr;
  uint32_t index = 0;                         ///< Of the candidate.
  std::string_view request_id{};              ///< What it was told, when that is not the caller's.
  const clearing::Rates* rates = nullptr;     ///< Fresh ones, or null.
  clearing::AskedFormats* formats = nullptr;  ///< Of the request, or null.
};

/// Reads the end of a call into `call` and classifies it: a copy of the body, its bids judged by
/// the DSP's rules and by refuse_strays. `body` needs no padding: it is copied.
resilience::Outcome take_answer(Call& call, const Answering& asked, const base::CallResult& result,
                                std::string_view body);

/// Whether the auction is poorer for a partner that could not serve, rather than for one that did
/// not want to: refused by 520, 521 or 523, silent until the end, or ended by timeout, refusal,
/// reset, TLS, a name without address, a full pool or a 5xx. Makes an empty imp `degraded`.
[[nodiscard]] bool partner_fault(const Call& call);

/// seatnonbid code of a candidate without regard to single bids: refusal codes as they are, 101
/// silent or late, 103 unreachable, 102 not an answer, 100 other errors, 0 no bid.
[[nodiscard]] openrtb::NonBid non_bid_of(const Call& call);

}  // namespace spillway::exchange
