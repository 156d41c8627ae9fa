#include "exchange/auction.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/money.h"
#include "base/time.h"
#include "exchange/auction_rules.h"
#include "exchange/call.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/rates.h"
#include "exchange/conclusion.h"
#include "exchange/enrich.h"
#include "exchange/fallback.h"
#include "exchange/house.h"
#include "exchange/non_bids.h"
#include "exchange/notice_orders.h"
#include "exchange/outgoing.h"
#include "exchange/prebid.h"
#include "exchange/privacy.h"
#include "exchange/response.h"
#include "exchange/routing.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"
#include "openrtb/versions.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

using std::chrono::milliseconds;

constexpr size_t kNodesKept = 8'192;  // One huge request does not hold its memory for good.
constexpr auto kShedCode = static_cast<uint16_t>(openrtb::NonBid::kShed);

}  // namespace

struct Auction::Body {
  enum class Stage : uint8_t { kIdle, kRouted, kAsking, kEnded };

  const Snapshot* snapshot = nullptr;
  const Account* account = nullptr;
  Start input;
  Stage stage = Stage::kIdle;
  openrtb::Document document;
  openrtb::RequestView request;
  uint64_t request_hash = 0;
  base::Instant deadline{};
  base::Instant miss_after{};
  base::Instant admitted_at{};

  Prebid prebid;
  std::vector<PrivacyDecision> privacy;  ///< One a DSP, once routed.
  Routes routes;
  Outgoing outgoing;
  std::vector<openrtb::PathEdit> fill;       ///< See fill_silence.
  std::vector<openrtb::NodeId> params;       ///< Of the candidate being asked.
  std::vector<std::unique_ptr<Call>> calls;  ///< One a candidate in front; the rest is kept memory.
  std::vector<Ask> asks;
  size_t outstanding = 0;

  std::vector<clearing::Bid*> bids;
  std::vector<clearing::Cleared> cleared;
  std::vector<HouseFill> house;
  base::Currency currency;
  openrtb::NoBid nbr = openrtb::NoBid::kUnknown;
  Call late;  ///< Where answers after the end are read, to be judged and forgotten.
  ResponseWriter writer;
  ReplyBytes reply;

  void reset();
  bool read();
  void refuse_everyone(openrtb::NoBid why, openrtb::NonBid code);
  void decide_privacy();
  void prepare_calls();
  bool ask(base::Instant now, uint32_t candidate, const resilience::Terms& terms,
           base::Duration network_cost);
  DspEdits edits_for(uint32_t index, int64_t tmax_ms);
  void gather_bids();
  void end();
  [[nodiscard]] Conclusion conclusion() const;

  [[nodiscard]] std::span<const Candidate> candidates() const { return routes.candidates(); }

  /// The snapshot's while they are fresh by the recorded time of the auction, else none.
  [[nodiscard]] const clearing::Rates* rates() const {
    return snapshot->rates.fresh(input.wall_ms) ? &snapshot->rates : nullptr;
  }

  [[nodiscard]] size_t candidate_count() const { return candidates().size(); }
};

void Auction::Body::reset() {
  if (document.size() > kNodesKept) {
    document = openrtb::Document();
  }
  const size_t used = candidate_count();
  for (size_t i = 0; i < used && i < calls.size(); ++i) {
    calls[i]->reset();
  }
  snapshot = nullptr;
  account = nullptr;
  input = {};
  stage = Stage::kIdle;
  request.clear();
  request_hash = 0;
  deadline = miss_after = admitted_at = {};
  prebid.clear();
  privacy.clear();
  routes.clear();
  asks.clear();
  outstanding = 0;
  bids.clear();
  cleared.clear();
  house.clear();
  currency = {};
  nbr = openrtb::NoBid::kUnknown;
  reply.kind = ReplyKind::kNoBid;
  reply.status = 204;
  reply.json = false;
  reply.body.clear();
  reply.nbr = openrtb::NoBid::kUnknown;
}

/// Walks and validates; on an error the reply is there.
bool Auction::Body::read() {
  if (const auto walked = document.walk(input.body); !walked) {
    write_invalid(openrtb::field_error(document, walked.error()), reply);
    return false;
  }
  if (const auto valid = read_request(document, snapshot->request_policy, request); !valid) {
    write_invalid(valid.error(), reply);
    return false;
  }
  request_hash = base::hash64(request.id);
  account = &snapshot->account_of(request.publisher_id);
  assume_secure(*account, document, request);
  miss_after = input.time_zero + clamped_tmax(snapshot->timing, request.tmax);
  deadline = miss_after - account->response_margin;
  return true;
}

void Auction::Body::refuse_everyone(openrtb::NoBid why, openrtb::NonBid code) {
  routes.refuse_all(*snapshot, request, code);
  nbr = why;
  end();
}

void Auction::Body::decide_privacy() {
  const PrivacySignals signals = read_privacy(document);
  for (const DspConfig& dsp : snapshot->dsps) {
    privacy.push_back(decide(
        signals, account->privacy,
        {.name = dsp.name, .gvl_id = dsp.gvl_id, .legitimate_interest = dsp.legitimate_interest}));
  }
}

void Auction::Body::prepare_calls() {
  while (calls.size() < candidate_count()) {
    calls.push_back(std::make_unique<Call>());
  }
}

/// Whether there was time to ask at all.
bool Auction::Body::ask(base::Instant now, uint32_t candidate, const resilience::Terms& terms,
                        base::Duration network_cost) {
  base::Instant until = deadline;
  if (terms.offered > base::Duration::zero()) {
    until = std::min(until, now + terms.offered);
  }
  const base::Duration left = until - now;
  if (left < milliseconds(1)) {
    return false;
  }
  const auto announced = std::max(
      milliseconds(1), std::chrono::floor<milliseconds>(left - std::max(network_cost, {})));
  asks.push_back({.candidate = candidate,
                  .deadline = until,
                  .announced_tmax = std::min<base::Duration>(announced, left),
                  .body = outgoing.bytes(edits_for(candidate, announced.count()))});
  return true;
}

/// All in which this DSP's request is its own.
DspEdits Auction::Body::edits_for(uint32_t index, int64_t tmax_ms) {
  const Candidate& candidate = candidates()[index];
  const DspConfig& dsp = snapshot->dsps[candidate.dsp];
  params.clear();
  if (prebid.has_params()) {
    for (const uint32_t imp : candidate.imps) {
      params.push_back(prebid.params(candidate.dsp, imp));
    }
  }
  std::string& request_id = calls[index]->request_id;
  if (dsp.own_request_id) {
    request_id =
        uuid_of(base::combine64(base::combine64(input.seed, request_hash), base::hash64(dsp.name)));
  }
  const bool is_25 = dsp.openrtb == "2.5";
  return {.imps = candidate.imps,
          .tmax_ms = tmax_ms,
          .at = request.at != 0 ? request.at : account->auction,
          .version = is_25 ? openrtb::Version::k25 : openrtb::Version::k26,
          .params = params,
          .buyeruid = prebid.buyeruid(candidate.dsp),
          .schain = prebid.schain(candidate.dsp),
          .request_id = request_id,
          .copy = privacy[candidate.dsp].copy};
}

/// In order of candidate, whatever order the answers came in.
void Auction::Body::gather_bids() {
  bids.clear();
  for (size_t i = 0; i < candidate_count(); ++i) {
    for (clearing::Bid& bid : calls[i]->answer.bids) {
      bids.push_back(&bid);
    }
  }
}

void Auction::Body::end() {
  stage = Stage::kEnded;
  gather_bids();
  currency = settle_currency(request, bids, rates());
  if (!bids.empty()) {
    const clearing::Rules rules{.at = request.at != 0 ? request.at : account->auction,
                                .increment_micros = account->second_price_increment_micros,
                                .seed = base::combine64(input.seed, request_hash),
                                .currency = currency,
                                .rates = rates()};
    clearing::clear(request, rules, bids, cleared);
  }
  for (const clearing::Cleared& imp : cleared) {
    if (imp.winner != clearing::Cleared::kNobody) {
      ++calls[bids[imp.winner]->answer]->report.wins;
    }
  }
  fill_empty_imps(conclusion(), house, nbr);
  writer.write(conclusion(), reply);
}

Conclusion Auction::Body::conclusion() const {
  return {.snapshot = snapshot,
          .account = account,
          .start = &input,
          .document = &document,
          .request = &request,
          .routes = &routes,
          .prebid = &prebid,
          .asks = asks,
          .calls = {calls.data(), candidate_count()},
          .bids = {bids.data(), bids.size()},
          .cleared = cleared,
          .house = house,
          .currency = currency,
          .nbr = nbr,
          .bidid = base::combine64(request_hash, input.seed)};
}

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
  if (input.shed_level >= 2) {
    write_shed(*body.account, input, body.reply);
    body.stage = Body::Stage::kEnded;
    return {};
  }
  if (!body.read()) {
    body.request.clear();
    body.stage = Body::Stage::kEnded;
    return {};
  }
  if (input.shed_level == 1) {
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
                        .rates = self.rates()};
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
