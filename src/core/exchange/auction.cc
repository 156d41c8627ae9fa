#include "exchange/auction.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "exchange/auction_body.h"
#include "exchange/auction_rules.h"
#include "exchange/call.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/enrich.h"
#include "exchange/non_bids.h"
#include "exchange/notice_orders.h"
#include "exchange/privacy.h"
#include "exchange/response.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

constexpr auto kShedCode = static_cast<uint16_t>(openrtb::NonBid::kShed);

}  // namespace

Auction::Auction() : body_(std::make_unique<Body>()) {}

Auction::~Auction() = default;

void Auction::reset() { body_->reset(); }

std::span<const Candidate> Auction::start(const Snapshot& snapshot, const Start& input) {
  Body& body = *body_;
  body.reset();
  body.snapshot = &snapshot;
  body.account = &snapshot.account_of("");
  body.input = input;
  body.miss_after = input.time_zero + clamped_tmax(snapshot.timing, {});
  body.deadline = body.miss_after - body.account->response_margin;
  if (!input.is_json) {
    write_unsupported(body.reply);
    body.stage = Body::Stage::kEnded;
    return {};
  }
  if (input.shed.least() == 2) {
    write_shed(*body.account, input, body.reply);
    body.stage = Body::Stage::kEnded;
    return {};
  }
  if (!body.read()) {
    body.request.clear();
    body.stage = Body::Stage::kEnded;
    return {};
  }
  const uint8_t shed = input.shed.level(body.account->criticality);
  body.input.shed = ShedLevels::all(shed);
  if (shed == 2) {
    write_shed(*body.account, input, body.reply);
    body.stage = Body::Stage::kEnded;
    return {};
  }
  if (shed == 1) {
    body.refuse_everyone(openrtb::NoBid::kShed, openrtb::NonBid::kShed);
    return {};
  }
  if (body.deadline - input.now < snapshot.timing.ask_min) {
    body.refuse_everyone(openrtb::NoBid::kInsufficientTime, openrtb::NonBid::kDeadlineTooShort);
    return {};
  }
  fill_silence(*body.account, input, body.document, base::combine64(input.seed, body.request_hash),
               body.fill);
  body.prebid.read(snapshot, body.document, body.request);
  body.decide_privacy();
  body.routes.route(snapshot, body.request, body.prebid,
                    base::combine64(input.seed, body.request_hash), body.privacy);
  body.prepare_calls();
  body.stage = Body::Stage::kRouted;
  if (body.candidate_count() == 0) {
    body.end();
  }
  return body.routes.candidates();
}

bool Auction::finished() const { return body_->stage == Body::Stage::kEnded; }

base::Instant Auction::deadline() const { return body_->deadline; }

base::Instant Auction::miss_after() const { return body_->miss_after; }

uint64_t Auction::request_hash() const { return body_->request_hash; }

std::span<const Ask> Auction::admit(base::Instant now, std::span<const Verdict> verdicts) {
  Body& body = *body_;
  if (body.stage != Body::Stage::kRouted) {
    return {};
  }
  body.stage = Body::Stage::kAsking;
  body.admitted_at = now;
  body.outgoing.reset(body.document, body.request,
                      {.margin_ppm = body.account->price_margin_ppm,
                       .floor = body.account->floor,
                       .rates = body.rates(),
                       .fill = body.fill,
                       .seller = &body.account->seller});
  for (uint32_t i = 0; i < body.candidate_count(); ++i) {
    Call& call = *body.calls[i];
    // A missing verdict is a caller that gave up: shed.
    call.report.refusal = i < verdicts.size() ? verdicts[i].refusal : kShedCode;
    if (call.report.refusal != 0) {
      continue;
    }
    call.terms = verdicts[i].terms;
    call.report.asked = body.ask(now, i, call.terms, verdicts[i].network_cost);
    if (!call.report.asked) {
      call.report.refusal = static_cast<uint16_t>(resilience::Refusal::kDeadlineTooShort);
    }
  }
  body.outstanding = body.asks.size();
  if (body.asks.empty()) {
    body.end();
  }
  return body.asks;
}

resilience::Outcome Auction::on_answer(base::Instant /*now*/, uint32_t candidate,
                                       const base::CallResult& result, std::string_view body) {
  Body& self = *body_;
  if (candidate >= self.candidate_count()) {
    return classify(result, AnswerKind::kNone, {});
  }
  Call& call = *self.calls[candidate];
  const Answering asked{.snapshot = self.snapshot,
                        .request = &self.request,
                        .account = self.account,
                        .candidate = &self.candidates()[candidate],
                        .index = candidate,
                        .request_id = call.request_id,
                        .rates = self.rates(),
                        .formats = &self.formats};
  if (self.stage != Body::Stage::kAsking || !call.report.asked || call.report.answered) {
    self.late.reset();
    self.late.terms = call.terms;
    return take_answer(self.late, asked, result, body);
  }
  --self.outstanding;
  return take_answer(call, asked, result, body);
}

bool Auction::all_answered() const {
  return body_->stage == Body::Stage::kEnded ||
         (body_->stage == Body::Stage::kAsking && body_->outstanding == 0);
}

void Auction::finish(base::Instant now) {
  Body& body = *body_;
  if (body.stage != Body::Stage::kAsking && body.stage != Body::Stage::kRouted) {
    return;
  }
  for (const Ask& ask : body.asks) {
    CandidateReport& report = body.calls[ask.candidate]->report;
    if (!report.answered) {
      report.elapsed = now - body.admitted_at;
    }
  }
  body.end();
}

const ReplyBytes& Auction::reply() const { return body_->reply; }

ReplyBytes Auction::take_reply() { return std::exchange(body_->reply, ReplyBytes{}); }

std::span<const PrivacyDecision> Auction::privacy() const { return body_->privacy; }

const openrtb::RequestView& Auction::request() const { return body_->request; }

const Account& Auction::account() const { return *body_->account; }

std::span<const Candidate> Auction::candidates() const { return body_->routes.candidates(); }

const CandidateReport& Auction::report(uint32_t candidate) const {
  return body_->calls[candidate]->report;
}

std::span<const clearing::Bid* const> Auction::bids() const {
  return {body_->bids.data(), body_->bids.size()};
}

std::span<const clearing::Cleared> Auction::cleared() const { return body_->cleared; }

void Auction::list_notices(ClearedNotices& out) const {
  out.clear();
  if (finished() && !body_->bids.empty()) {
    exchange::list_notices(body_->conclusion(), out);
  }
}

std::vector<SeatNonBid> Auction::seat_non_bids() const {
  if (!finished() || body_->account == nullptr) {
    return {};
  }
  return list_non_bids(body_->conclusion());
}

}  // namespace spillway::exchange
