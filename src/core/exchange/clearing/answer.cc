#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/money.h"
#include "exchange/classify.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/bid_fields.h"
#include "exchange/clearing/bid_rules.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Key;
using openrtb::Kind;
using openrtb::Loss;
using openrtb::NodeId;

/// Nodes of the answer's own members; kAbsent for missing and null ones.
struct RootFields {
  NodeId id = openrtb::kAbsent;
  NodeId bidid = openrtb::kAbsent;
  NodeId cur = openrtb::kAbsent;
  NodeId nbr = openrtb::kAbsent;
  NodeId seatbid = openrtb::kAbsent;
};

RootFields read_root(const openrtb::Document& document, NodeId root) {
  RootFields fields;
  for (const NodeId member : document.children(root)) {
    const NodeId present = document.is(member, Kind::kNull) ? openrtb::kAbsent : member;
    switch (document.node(member).key) {
      case Key::id:
        fields.id = present;
        break;
      case Key::bidid:
        fields.bidid = present;
        break;
      case Key::cur:
        fields.cur = present;
        break;
      case Key::nbr:
        fields.nbr = present;
        break;
      case Key::seatbid:
        fields.seatbid = present;
        break;
      default:
        break;
    }
  }
  return fields;
}

/// The answer's currency: USD when it names none. False when what it names is no code.
bool read_currency(const openrtb::Document& document, NodeId cur, base::Currency& out) {
  out = base::Currency{};
  if (cur == openrtb::kAbsent) {
    return true;
  }
  const std::string_view text = document.raw_string(cur);
  if (text.empty()) {
    return document.is(cur, Kind::kString);
  }
  if (text.size() != out.code.size()) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const char upper = text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 32) : text[i];
    if (upper < 'A' || upper > 'Z') {
      return false;
    }
    out.code[i] = upper;
  }
  return true;
}

/// One answer being read: the context of its bids.
class Reader {
 public:
  Reader(const openrtb::RequestView& request, const AnswerSource& source,
         const openrtb::Document& document, Answer& out)
      : request_(request), source_(source), dsp_(source.dsp), document_(document), out_(out) {}

  /// False when it is no bid response.
  bool read() {
    const NodeId root = document_.root();
    if (!document_.is(root, Kind::kObject)) {
      return false;
    }
    const RootFields fields = read_root(document_, root);
    if (fields.seatbid != openrtb::kAbsent && !document_.is(fields.seatbid, Kind::kArray)) {
      return false;
    }
    document_.append_string(fields.bidid, out_.bidid);
    const int64_t nbr = document_.integer(fields.nbr).value_or(-1);
    out_.nbr = nbr >= 0 && nbr <= 65'535 ? static_cast<int>(nbr) : -1;
    currency_known_ = read_currency(document_, fields.cur, currency_);
    id_matches_ =
        document_.equals(fields.id, source_.request_id.empty() ? request_.id : source_.request_id);
    for (const NodeId seatbid : document_.children(fields.seatbid)) {
      if (!document_.is(seatbid, Kind::kNull) && !read_seat(seatbid)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool read_seat(NodeId seatbid) {
    const NodeId bids = document_.find(seatbid, Key::bid);
    if (!document_.is(seatbid, Kind::kObject) ||
        (bids != openrtb::kAbsent && !document_.is(bids, Kind::kArray))) {
      return false;
    }
    seat_.clear();
    document_.append_string(document_.find(seatbid, Key::seat), seat_);
    if (seat_.empty()) {
      seat_ = dsp_.seat.empty() ? dsp_.name : dsp_.seat;
    }
    const bool is_group = document_.integer(document_.find(seatbid, Key::group)) == 1;
    group_ = is_group ? ++groups_ : 0;
    const size_t begin = out_.bids.size();
    const size_t over_cap = out_.bids_over_cap;
    for (const NodeId node : document_.children(bids)) {
      if (!document_.is(node, Kind::kObject)) {
        continue;
      }
      if (out_.bids.size() >= dsp_.checks.bids_per_answer) {
        ++out_.bids_over_cap;
        continue;
      }
      read_bid(node);
    }
    if (is_group && out_.bids_over_cap != over_cap) {
      refuse_group(begin);
    }
    return true;
  }

  void read_bid(NodeId node) {
    Bid& bid = out_.bids.emplace_back();
    bid.dsp = source_.dsp_index;
    bid.answer = source_.answer_index;
    bid.node = node;
    bid.seat = seat_;
    bid.imp = Bid::kNoImp;
    bid.group = group_;
    bid.currency = currency_;
    const BidFields fields = read_fields(document_, node);
    bid.notices = fields.notices();
    const RuleInput input{.document = document_,
                          .request = request_,
                          .dsp = dsp_,
                          .fields = fields,
                          .rates = source_.rates,
                          .formats = source_.formats,
                          .account_floor = source_.floor,
                          .margin_ppm = source_.margin_ppm,
                          .currency_known = currency_known_,
                          .scratch = out_.scratch};
    bid.loss = judge(input, bid);
    if (dsp_.checks.require_response_id && !id_matches_) {
      bid.loss = Loss::kInvalidResponse;
    }
    bid.duplicate = !dsp_.checks.allow_duplicate_bid_id && seen_before(bid);
  }

  /// What is left of a group that was cut off can win no more than a part of it.
  void refuse_group(size_t begin) {
    for (size_t i = begin; i < out_.bids.size(); ++i) {
      out_.bids[i].loss = out_.bids[i].valid() ? Loss::kGroup : out_.bids[i].loss;
    }
  }

  /// Whether an earlier bid of this answer, good or bad, has the same id.
  bool seen_before(const Bid& bid) {
    const size_t before = out_.bids.size() - 1;
    if (before == 0) {
      return false;  // as most: nothing needs a hash
    }
    auto& hashes = out_.id_hashes;
    while (hashes.size() <= before) {
      hashes.push_back(base::hash64(out_.bids[hashes.size()].id));
    }
    for (size_t i = 0; i < before; ++i) {
      if (hashes[i] == hashes[before] && !bid.id.empty() && out_.bids[i].id == bid.id) {
        return true;
      }
    }
    return false;
  }

  const openrtb::RequestView& request_;
  const AnswerSource& source_;
  const DspConfig& dsp_;
  const openrtb::Document& document_;
  Answer& out_;
  // What bids have from their answer, then from their seat.
  base::Currency currency_;
  std::string seat_;
  uint32_t group_ = 0;
  uint32_t groups_ = 0;
  bool currency_known_ = false;
  bool id_matches_ = false;
};

bool same_slot(const Bid& a, const Bid& b) { return a.imp == b.imp && a.seat == b.seat; }

/// Whether `a` is kept rather than `b`, of the same seat and imp.
bool kept_before(const Bid& a, const Bid& b) {
  if (a.worth() != b.worth()) {
    return a.worth() > b.worth();
  }
  return a.id != b.id ? a.id < b.id : a.node < b.node;
}

/// Valid bids of one seat on one imp beyond the best `kept` are outbid by their own; those in
/// groups stay, as one would take the others with it. `order` is memory.
void keep_the_best(uint32_t kept, std::vector<Bid>& bids, std::vector<uint64_t>& order) {
  if (bids.size() <= kept) {
    return;
  }
  order.clear();
  for (size_t i = 0; i < bids.size(); ++i) {
    if (bids[i].valid() && bids[i].group == 0) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, [&bids](uint64_t i, uint64_t j) {
    const Bid& a = bids[i];
    const Bid& b = bids[j];
    if (a.imp != b.imp) {
      return a.imp < b.imp;
    }
    return a.seat != b.seat ? a.seat < b.seat : kept_before(a, b);
  });
  uint32_t run = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    run = i > 0 && same_slot(bids[order[i - 1]], bids[order[i]]) ? run + 1 : 1;
    if (run > kept) {
      bids[order[i]].loss = Loss::kOutbid;
    }
  }
}

}  // namespace

void Answer::clear() {
  kind = AnswerKind::kNone;
  bidid.clear();
  nbr = -1;
  bids_over_cap = 0;
  bids.clear();
  scratch.clear();
  id_hashes.clear();
}

void read_answer(std::string_view body, const openrtb::RequestView& request,
                 const AnswerSource& source, openrtb::Document& document, Answer& out) {
  out.clear();
  if (const auto walked = document.walk(body); !walked.has_value()) {
    const bool says_nothing = walked.error() == openrtb::WalkErrc::kEmpty;
    out.kind = says_nothing ? AnswerKind::kNoBid : AnswerKind::kMalformed;
    return;
  }
  if (!Reader(request, source, document, out).read()) {
    out.clear();
    out.kind = AnswerKind::kMalformed;
    return;
  }
  out.kind = out.bids.empty() ? AnswerKind::kNoBid : AnswerKind::kBids;
  keep_the_best(source.dsp.checks.bids_per_seat_and_imp, out.bids, out.id_hashes);
}

}  // namespace spillway::exchange::clearing
