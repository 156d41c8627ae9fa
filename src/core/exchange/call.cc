#include "exchange/call.h"

#include <cstddef>
#include <string>

#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/classify.h"
#include "openrtb/codes.h"
#include "resilience/guard.h"

namespace spillway::exchange {

namespace {

constexpr size_t kBodyKept = size_t{256} * 1024;

}  // namespace

void Call::reset() {
  report = {};
  terms = {};
  error = base::CallError::kNone;
  status = 0;
  if (body.capacity() > kBodyKept) {
    body = std::string();
  }
  body.clear();
  answer.clear();
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
