#include "exchange/non_bids.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/auction.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "exchange/routing.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::exchange {

namespace {

using clearing::Bid;
using openrtb::Loss;
using openrtb::NonBid;

/// Losing on price is getting furthest.
int rank(const Bid& bid) { return bid.loss == Loss::kOutbid || bid.loss == Loss::kDealWon ? 1 : 0; }

bool better(const Bid& bid, const Bid* other) {
  if (other == nullptr) {
    return true;
  }
  return rank(bid) != rank(*other) ? rank(bid) > rank(*other) : bid.worth() > other->worth();
}

struct Losers {
  std::vector<const Bid*> best;  ///< DSPs times imps.
  std::vector<uint8_t> astray;   ///< A DSP: it bid on what it was not asked.

  Losers(const Conclusion& end, size_t imps)
      : best(end.snapshot->dsps.size() * imps), astray(end.snapshot->dsps.size()) {
    for (const Bid* bid : end.bids) {
      if (bid->imp == Bid::kNoImp) {
        astray[bid->dsp] = 1;
        continue;
      }
      const Bid*& known = best[bid->dsp * imps + bid->imp];
      if (!bid->valid() && better(*bid, known)) {
        known = bid;
      }
    }
  }
};

SeatNonBid line_of(const Conclusion& end, const Losers& losers, uint32_t dsp, uint32_t imp) {
  SeatNonBid line{.dsp = dsp, .imp = imp};
  const uint32_t candidate = end.routes->candidate_of(dsp, imp);
  if (candidate == Routes::kNoCandidate) {
    line.code = end.routes->code_of(dsp, imp);
    return line;
  }
  const Call& call = *end.calls[candidate];
  line.code = non_bid_of(call);
  if (line.code != NonBid::kNoBid || !call.report.asked) {
    return line;
  }
  if (const Bid* bid = losers.best[dsp * end.request->imps.size() + imp]; bid != nullptr) {
    line.loss = bid->loss;
    line.code = bid->duplicate ? NonBid::kDuplicate : openrtb::non_bid_of(bid->loss);
  } else if (losers.astray[dsp] != 0) {
    line.loss = Loss::kInvalidResponse;
    line.code = openrtb::non_bid_of(line.loss);
  }
  return line;
}

}  // namespace

std::vector<SeatNonBid> list_non_bids(const Conclusion& end) {
  const size_t imps = end.request->imps.size();
  const Losers losers(end, imps);
  std::vector<SeatNonBid> lines;
  lines.reserve(end.snapshot->dsps.size() * imps);
  for (uint32_t dsp = 0; dsp < end.snapshot->dsps.size(); ++dsp) {
    for (uint32_t imp = 0; imp < imps; ++imp) {
      const Bid* winner = end.winner_of(imp);
      if (winner == nullptr || winner->dsp != dsp) {
        lines.push_back(line_of(end, losers, dsp, imp));
      }
    }
  }
  return lines;
}

void append_seat_non_bids(std::string& out, const Conclusion& end,
                          const std::vector<SeatNonBid>& lines) {
  out += ",\"seatnonbid\":[";
  for (size_t i = 0; i < lines.size(); ++i) {
    const SeatNonBid& line = lines[i];
    const bool first_of_seat = i == 0 || lines[i - 1].dsp != line.dsp;
    if (first_of_seat) {
      out += i == 0 ? "{\"seat\":" : "]},{\"seat\":";
      openrtb::append_json_string(out, end.snapshot->dsps[line.dsp].name);
      out += ",\"nonbid\":[";
    } else {
      out += ',';
    }
    out += "{\"impid\":";
    out +=
        end.document->raw(end.document->find(end.request->imps[line.imp].node, openrtb::Key::id));
    out += ",\"statuscode\":";
    out += std::to_string(static_cast<uint16_t>(line.code));
    if (line.loss != Loss::kWon) {
      out += ",\"ext\":{\"loss\":";
      out += std::to_string(static_cast<uint16_t>(line.loss));
      out += '}';
    }
    out += '}';
  }
  out += lines.empty() ? "]" : "]}]";
}

}  // namespace spillway::exchange
