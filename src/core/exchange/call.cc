#include "exchange/call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/auction_rules.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

// What most answers need; many auctions are in flight, each with many calls.
constexpr size_t kBodyKept = size_t{16} * 1024;
constexpr size_t kNodesKept = 1'024;

AnswerKind read_body(Call& call, const Answering& asked, std::string_view body) {
  call.body.reserve(body.size() + openrtb::Document::kPadding);
  call.body.assign(body);
  call.body.append(openrtb::Document::kPadding, '\0');
  const uint32_t dsp = asked.candidate->dsp;
  clearing::read_answer(std::string_view(call.body).substr(0, body.size()), *asked.request,
                        {.dsp = asked.snapshot->dsps[dsp],
                         .dsp_index = dsp,
                         .answer_index = asked.index,
                         .margin_ppm = asked.account->price_margin_ppm,
                         .floor = asked.account->floor,
                         .request_id = asked.request_id,
                         .rates = asked.rates,
                         .formats = asked.formats},
                        call.document, call.answer);
  refuse_strays(*asked.snapshot, *asked.candidate, call.answer.bids);
  call.report.bids = static_cast<uint32_t>(call.answer.bids.size() + call.answer.bids_over_cap);
  call.report.bids_valid = static_cast<uint32_t>(
      std::ranges::count_if(call.answer.bids, [](const auto& bid) { return bid.valid(); }));
  return call.answer.kind;
}

}  // namespace

void Call::reset() {
  report = {};
  terms = {};
  error = base::CallError::kNone;
  status = 0;
  if (body.capacity() > kBodyKept) {
    body = std::string();
  }
  if (document.size() > kNodesKept) {
    document = openrtb::Document();
  }
  request_id.clear();
  body.clear();
  answer.clear();
}

resilience::Outcome take_answer(Call& call, const Answering& asked, const base::CallResult& result,
                                std::string_view body) {
  call.error = result.error;
  call.status = result.status;
  call.report.answered = true;
  call.report.elapsed = result.elapsed();
  const bool is_complete =
      result.error == base::CallError::kNone && result.phase == base::CallPhase::kDone;
  if (is_complete && result.status == 204) {
    call.report.answer = AnswerKind::kNoBid;
  } else if (is_complete && result.status == 200) {
    call.report.answer = read_body(call, asked, body);
  }
  call.report.outcome = classify(result, call.report.answer, call.terms);
  return call.report.outcome;
}

bool partner_fault(const Call& call) {
  using resilience::Refusal;
  if (!call.report.asked) {
    return call.report.refusal == static_cast<uint16_t>(Refusal::kCircuitOpen) ||
           call.report.refusal == static_cast<uint16_t>(Refusal::kConcurrency) ||
           call.report.refusal == static_cast<uint16_t>(Refusal::kHostEjected);
  }
  if (!call.report.answered) {
    return true;
  }
  switch (call.error) {
    case base::CallError::kTimeout:
    case base::CallError::kRefused:
    case base::CallError::kReset:
    case base::CallError::kTls:
    case base::CallError::kDns:
    case base::CallError::kNoConnection:
      return true;
    case base::CallError::kNone:
      return call.status >= 500;
    case base::CallError::kProtocol:
    case base::CallError::kTooLarge:
    case base::CallError::kNoBudget:
    case base::CallError::kCancelled:
      return false;
  }
  return false;
}

openrtb::NonBid non_bid_of(const Call& call) {
  using openrtb::NonBid;
  if (!call.report.asked) {
    return static_cast<NonBid>(call.report.refusal);
  }
  if (!call.report.answered) {
    return NonBid::kTimeout;
  }
  switch (call.error) {
    case base::CallError::kTimeout:
      return NonBid::kTimeout;
    case base::CallError::kRefused:
    case base::CallError::kReset:
    case base::CallError::kTls:
    case base::CallError::kDns:
      return NonBid::kUnreachable;
    case base::CallError::kProtocol:
    case base::CallError::kTooLarge:
      return NonBid::kInvalidResponse;
    case base::CallError::kNoConnection:
      return NonBid::kConcurrency;
    case base::CallError::kNoBudget:
      return NonBid::kShed;
    case base::CallError::kCancelled:
      return NonBid::kError;
    case base::CallError::kNone:
      break;
  }
  switch (call.report.answer) {
    case AnswerKind::kNone:
      return NonBid::kError;
    case AnswerKind::kMalformed:
      return NonBid::kInvalidResponse;
    case AnswerKind::kNoBid:
    case AnswerKind::kBids:
      break;
  }
  return NonBid::kNoBid;
}

}  // namespace spillway::exchange
