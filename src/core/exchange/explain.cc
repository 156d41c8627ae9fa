#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/record.h"
#include "exchange/replay.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

/// Writes the same facts as lines for people, or as JSON.
class Explanation {
 public:
  Explanation(const Snapshot& snapshot, const Record& record, const Auction& auction)
      : snapshot_(&snapshot), record_(&record), auction_(&auction) {}

  std::string text();
  std::string json();

 private:
  [[nodiscard]] bool is_same() const {
    return auction_->reply().status == record_->status && auction_->reply().body == record_->reply;
  }

  [[nodiscard]] std::string_view imp_id(uint32_t imp) const {
    return imp < auction_->request().imps.size() ? auction_->request().imps[imp].id : "?";
  }

  void text_candidate(uint32_t index);
  void text_bid(const clearing::Bid& bid, uint32_t index);
  void text_imps();
  void text_non_bids();
  void json_candidate(uint32_t index);
  void json_bid(const clearing::Bid& bid, uint32_t index);
  void json_imps();
  void json_non_bids();

  void key(std::string_view name) {
    if (out_.back() != '{' && out_.back() != '[') {
      out_ += ',';
    }
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  void member(std::string_view name, std::string_view value) {
    key(name);
    openrtb::append_json_string(out_, value);
  }

  void member(std::string_view name, int64_t value) {
    key(name);
    out_ += std::to_string(value);
  }

  void member_bool(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
  }

  void member_ms(std::string_view name, base::Duration value) {
    key(name);
    append_ms(value);
  }

  void member_cpm(std::string_view name, base::Cpm value) {
    key(name);
    base::append_micros(out_, value.micros);
  }

  void next() {
    if (out_.back() != '[') {
      out_ += ',';
    }
  }

  /// Milliseconds with three decimals at most.
  void append_ms(base::Duration value) { base::append_micros(out_, value.count() / 1000 * 1000); }

  void append_code(uint16_t code, std::string_view words) {
    out_ += std::to_string(code);
    if (!words.empty()) {
      out_ += ' ';
      out_ += words;
    }
  }

  [[nodiscard]] bool is_winner(uint32_t index) const {
    for (const clearing::Cleared& imp : auction_->cleared()) {
      if (imp.winner == index) {
        return true;
      }
    }
    return false;
  }

  const Snapshot* snapshot_;
  const Record* record_;
  const Auction* auction_;
  std::string out_;
};

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

std::string_view to_string(resilience::Admitted how) {
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

void Explanation::text_bid(const clearing::Bid& bid, uint32_t index) {
  out_ += "    bid ";
  out_ += bid.id;
  out_ += " seat ";
  out_ += bid.seat;
  out_ += " imp ";
  out_ += bid.impid;
  out_ += " price ";
  base::append_micros(out_, bid.price.micros);
  out_ += ' ';
  out_ += bid.currency.view();
  if (is_winner(index)) {
    out_ += ": won, pays ";
    base::append_micros(out_, auction_->cleared()[bid.imp].price.micros);
  } else if (bid.duplicate) {
    out_ += ": refused, ";
    append_code(static_cast<uint16_t>(openrtb::NonBid::kDuplicate),
                describe(openrtb::NonBid::kDuplicate));
  } else {
    out_ += ": lost, ";
    append_code(static_cast<uint16_t>(bid.loss), describe(bid.loss));
    out_ += " (seatnonbid ";
    out_ += std::to_string(static_cast<uint16_t>(openrtb::non_bid_of(bid.loss)));
    out_ += ')';
  }
  if (bid.warnings != 0) {
    out_ += ", warnings ";
    out_ += std::to_string(bid.warnings);
  }
  out_ += '\n';
}

void Explanation::text_candidate(uint32_t index) {
  const Candidate& candidate = auction_->candidates()[index];
  const CandidateReport& report = auction_->report(index);
  const DspConfig& dsp = snapshot_->dsps[candidate.dsp];
  out_ += "  ";
  out_ += dsp.name;
  out_ += '/';
  out_ += dsp.endpoints[candidate.endpoint].path;
  if (!report.asked) {
    out_ += ": not asked, ";
    append_code(report.refusal, describe(static_cast<openrtb::NonBid>(report.refusal)));
    out_ += '\n';
    return;
  }
  out_ += ": asked";
  if (index < record_->verdicts.size()) {
    out_ += " (";
    out_ += to_string(record_->verdicts[index].terms.how);
    out_ += ", given ";
    append_ms(record_->verdicts[index].terms.offered);
    out_ += " ms)";
  }
  if (!report.answered) {
    out_ += ", silent until the end, 101 timeout\n";
    return;
  }
  out_ += ", ";
  out_ += to_string(report.outcome);
  out_ += " after ";
  append_ms(report.elapsed);
  out_ += " ms, answer ";
  out_ += to_string(report.answer);
  out_ += ", bids ";
  out_ += std::to_string(report.bids);
  out_ += ", valid ";
  out_ += std::to_string(report.bids_valid);
  out_ += '\n';
  for (uint32_t i = 0; i < auction_->bids().size(); ++i) {
    if (auction_->bids()[i]->answer == index) {
      text_bid(*auction_->bids()[i], i);
    }
  }
}

void Explanation::text_imps() {
  const auto cleared = auction_->cleared();
  for (uint32_t imp = 0; imp < auction_->request().imps.size(); ++imp) {
    out_ += "  imp ";
    out_ += imp_id(imp);
    if (imp < cleared.size() && cleared[imp].winner != clearing::Cleared::kNobody) {
      const clearing::Bid& bid = *auction_->bids()[cleared[imp].winner];
      out_ += ": ";
      out_ += snapshot_->dsps[bid.dsp].name;
      out_ += " wins with bid ";
      out_ += bid.id;
      out_ += ", clearing price ";
      base::append_micros(out_, cleared[imp].price.micros);
      out_ += ' ';
      out_ += bid.currency.view();
      out_ += ", to win it took ";
      base::append_micros(out_, cleared[imp].min_to_win.micros);
    } else {
      out_ += ": no winner among the DSPs";
    }
    out_ += '\n';
  }
}

void Explanation::text_non_bids() {
  for (const SeatNonBid& line : auction_->seat_non_bids()) {
    out_ += "  ";
    out_ += snapshot_->dsps[line.dsp].name;
    out_ += " imp ";
    out_ += imp_id(line.imp);
    out_ += ": ";
    append_code(static_cast<uint16_t>(line.code), describe(line.code));
    if (line.loss != openrtb::Loss::kWon) {
      out_ += ", loss ";
      append_code(static_cast<uint16_t>(line.loss), describe(line.loss));
    }
    out_ += '\n';
  }
}

std::string Explanation::text() {
  const ReplyBytes& reply = auction_->reply();
  out_ = "auction ";
  out_ += auction_->request().id;
  out_ += ": ";
  out_ += to_string(reply.kind);
  out_ += ", status ";
  out_ += std::to_string(reply.status);
  out_ += ", nbr ";
  append_code(static_cast<uint16_t>(reply.nbr), describe(reply.nbr));
  out_ += is_same() ? "\n" : "\nwarning: the reply is not the recorded one\n";
  out_ += "asked under a deadline of ";
  append_ms(auction_->deadline() - record_->start.time_zero);
  out_ += " ms\ncandidates\n";
  for (uint32_t i = 0; i < auction_->candidates().size(); ++i) {
    text_candidate(i);
  }
  out_ += "imps\n";
  text_imps();
  out_ += "without the win\n";
  text_non_bids();
  return out_;
}

void Explanation::json_bid(const clearing::Bid& bid, uint32_t index) {
  next();
  out_ += '{';
  member("id", bid.id);
  member("seat", bid.seat);
  member("impid", bid.impid);
  member_cpm("price", bid.price);
  member("cur", bid.currency.view());
  member_bool("won", is_winner(index));
  if (!is_winner(index)) {
    member("loss", static_cast<int64_t>(bid.loss));
    member("statuscode", static_cast<int64_t>(bid.duplicate ? openrtb::NonBid::kDuplicate
                                                            : openrtb::non_bid_of(bid.loss)));
    member("why", bid.duplicate ? describe(openrtb::NonBid::kDuplicate) : describe(bid.loss));
  }
  member("warnings", bid.warnings);
  out_ += '}';
}

void Explanation::json_candidate(uint32_t index) {
  const Candidate& candidate = auction_->candidates()[index];
  const CandidateReport& report = auction_->report(index);
  next();
  out_ += '{';
  member("dsp", snapshot_->dsps[candidate.dsp].name);
  member("path", snapshot_->dsps[candidate.dsp].endpoints[candidate.endpoint].path);
  member_bool("asked", report.asked);
  if (!report.asked) {
    member("refusal", report.refusal);
    member("why", describe(static_cast<openrtb::NonBid>(report.refusal)));
  } else {
    member_bool("answered", report.answered);
    member("outcome", report.answered ? resilience::to_string(report.outcome) : "timeout");
    member_ms("elapsed_ms", report.elapsed);
    member("answer", to_string(report.answer));
    key("bids");
    out_ += '[';
    for (uint32_t i = 0; i < auction_->bids().size(); ++i) {
      if (auction_->bids()[i]->answer == index) {
        json_bid(*auction_->bids()[i], i);
      }
    }
    out_ += ']';
  }
  out_ += '}';
}

void Explanation::json_imps() {
  const auto cleared = auction_->cleared();
  for (uint32_t imp = 0; imp < auction_->request().imps.size(); ++imp) {
    next();
    out_ += '{';
    member("id", imp_id(imp));
    if (imp < cleared.size() && cleared[imp].winner != clearing::Cleared::kNobody) {
      const clearing::Bid& bid = *auction_->bids()[cleared[imp].winner];
      member("dsp", snapshot_->dsps[bid.dsp].name);
      member("bid", bid.id);
      member_cpm("clearing_price", cleared[imp].price);
      member_cpm("min_to_win", cleared[imp].min_to_win);
      member("cur", bid.currency.view());
    }
    out_ += '}';
  }
}

void Explanation::json_non_bids() {
  for (const SeatNonBid& line : auction_->seat_non_bids()) {
    next();
    out_ += '{';
    member("dsp", snapshot_->dsps[line.dsp].name);
    member("imp", imp_id(line.imp));
    member("statuscode", static_cast<int64_t>(line.code));
    member("why", describe(line.code));
    if (line.loss != openrtb::Loss::kWon) {
      member("loss", static_cast<int64_t>(line.loss));
      member("loss_why", describe(line.loss));
    }
    out_ += '}';
  }
}

std::string Explanation::json() {
  const ReplyBytes& reply = auction_->reply();
  out_ = "{";
  member("id", auction_->request().id);
  member("kind", to_string(reply.kind));
  member("status", reply.status);
  member("nbr", static_cast<int64_t>(reply.nbr));
  member("nbr_why", describe(reply.nbr));
  member_bool("same_as_recorded", is_same());
  member_ms("deadline_ms", auction_->deadline() - record_->start.time_zero);
  key("candidates");
  out_ += '[';
  for (uint32_t i = 0; i < auction_->candidates().size(); ++i) {
    json_candidate(i);
  }
  out_ += ']';
  key("imps");
  out_ += '[';
  json_imps();
  out_ += ']';
  key("nonbids");
  out_ += '[';
  json_non_bids();
  out_ += "]}";
  return out_;
}

}  // namespace

std::string explain(const Snapshot& snapshot, const Record& record, bool json) {
  Auction auction;
  const openrtb::Padded request(record.request);
  run_again(snapshot, record, request.view(), auction);
  Explanation explanation(snapshot, record, auction);
  return json ? explanation.json() : explanation.text();
}

}  // namespace spillway::exchange
