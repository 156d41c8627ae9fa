#include "exchange/auction_body.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/auction_rules.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/margin.h"
#include "exchange/conclusion.h"
#include "exchange/enrich.h"
#include "exchange/fallback.h"
#include "exchange/outgoing.h"
#include "exchange/privacy.h"
#include "exchange/response.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/validate.h"
#include "openrtb/versions.h"
#include "resilience/guard.h"

namespace spillway::exchange {

namespace {

using std::chrono::milliseconds;

constexpr size_t kNodesKept = 8'192;  // One huge request does not hold its memory for good.

}  // namespace

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
  formats.reset(document, document.root());
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
          .copy = privacy[candidate.dsp].copy,
          .discount_ppm = clearing::kWholePpm - dsp.adjustment_ppm,
          .floor = dsp.floor};
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
          .fill = fill,
          .privacy = privacy,
          .asks = asks,
          .calls = {calls.data(), candidate_count()},
          .bids = {bids.data(), bids.size()},
          .cleared = cleared,
          .house = house,
          .currency = currency,
          .rates = rates(),
          .nbr = nbr,
          .bidid = base::combine64(request_hash, input.seed)};
}

}  // namespace spillway::exchange
