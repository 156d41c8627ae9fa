#include "exchange/explain.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/decimal.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/privacy.h"
#include "exchange/privacy_scrub.h"
#include "exchange/record.h"
#include "exchange/replay.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "resilience/guard.h"

namespace spillway::exchange {

bool Explained::is_same() const {
  return auction->reply().status == record->status && auction->reply().body == record->reply;
}

std::string_view Explained::imp_id(uint32_t imp) const {
  const auto& imps = auction->request().imps;
  return imp < imps.size() ? std::string_view(imps[imp].id) : std::string_view();
}

std::vector<std::string> Explained::withheld_from(uint32_t dsp) const {
  const PrivacyClass copy = auction->privacy()[dsp].copy;
  const openrtb::Padded request(record->request);
  openrtb::Document document;
  return document.walk(request.view()) ? scrubbed_paths(document, copy)
                                       : std::vector<std::string>{};
}

bool Explained::is_winner(uint32_t index) const {
  return std::ranges::any_of(auction->cleared(),
                             [&](const clearing::Cleared& imp) { return imp.winner == index; });
}

const clearing::Bid* Explained::winner_of(uint32_t imp) const {
  const auto cleared = auction->cleared();
  return imp < cleared.size() && cleared[imp].winner != clearing::Cleared::kNobody
             ? auction->bids()[cleared[imp].winner]
             : nullptr;
}

std::string_view to_string(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::kNone:
      return "none";
    case AnswerKind::kNoBid:
      return "no_bid";
    case AnswerKind::kBids:
      return "bids";
    case AnswerKind::kMalformed:
      return "malformed";
  }
  return "";
}

std::string_view name_of(resilience::Admitted how) {
  switch (how) {
    case resilience::Admitted::kNormal:
      return "normal";
    case resilience::Admitted::kProbe:
      return "probe";
    case resilience::Admitted::kRamp:
      return "ramp";
    case resilience::Admitted::kExplore:
      return "explore";
    case resilience::Admitted::kShadow:
      return "shadow";
  }
  return "";
}

void append_ms(std::string& out, base::Duration value) {
  base::append_micros(out, value.count() / 1000 * 1000);
}

std::string explain(const Snapshot& snapshot, const Record& record, bool json) {
  Auction auction;
  const openrtb::Padded request(record.request);
  run_again(snapshot, record, request.view(), auction);
  const Explained explained{.snapshot = &snapshot, .record = &record, .auction = &auction};
  return json ? explain_as_json(explained) : explain_as_text(explained);
}

}  // namespace spillway::exchange
