#include <cstdint>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "base/money.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/explain.h"
#include "exchange/privacy.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/consent/privacy.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

/// Writes the facts as lines.
class TextTelling {
 public:
  explicit TextTelling(const Explained& explained) : at_(explained) {}

  std::string text();

 private:
  void candidate(uint32_t index);
  void bid(const clearing::Bid& offer, uint32_t index);
  void imps();
  void privacy();
  void non_bids();

  void append_code(uint16_t code, std::string_view words) {
    out_ += std::to_string(code);
    if (!words.empty()) {
      out_ += ' ';
      out_ += words;
    }
  }

  /// The publisher's part, where the exchange takes one too.
  void append_net(const clearing::Bid& offer, base::Cpm net) {
    if (offer.margin_ppm != 0) {
      out_ += " (net ";
      base::append_micros(out_, net.micros);
      out_ += ')';
    }
  }

  Explained at_;
  std::string out_;
};

void TextTelling::bid(const clearing::Bid& offer, uint32_t index) {
  out_ += "    bid ";
  out_ += offer.id;
  out_ += " seat ";
  out_ += offer.seat;
  out_ += " imp ";
  out_ += offer.impid;
  out_ += " price ";
  base::append_micros(out_, offer.price.micros);
  out_ += ' ';
  out_ += offer.currency.view();
  append_net(offer, offer.net());
  if (at_.is_winner(index)) {
    const clearing::Cleared& cleared = at_.auction->cleared()[offer.imp];
    out_ += ": won, pays ";
    base::append_micros(out_, cleared.gross.micros);
    append_net(offer, cleared.price);
  } else if (offer.duplicate) {
    out_ += ": refused, ";
    append_code(static_cast<uint16_t>(openrtb::NonBid::kDuplicate),
                describe(openrtb::NonBid::kDuplicate));
  } else {
    out_ += ": lost, ";
    append_code(static_cast<uint16_t>(offer.loss), describe(offer.loss));
    out_ += " (seatnonbid ";
    out_ += std::to_string(static_cast<uint16_t>(openrtb::non_bid_of(offer.loss)));
    out_ += ')';
  }
  if (offer.warnings != 0) {
    out_ += ", warnings ";
    out_ += std::to_string(offer.warnings);
  }
  out_ += '\n';
}

void TextTelling::candidate(uint32_t index) {
  const Candidate& asked = at_.auction->candidates()[index];
  const CandidateReport& report = at_.auction->report(index);
  const DspConfig& dsp = at_.snapshot->dsps[asked.dsp];
  out_ += "  ";
  out_ += dsp.name;
  out_ += '/';
  out_ += dsp.endpoints[asked.endpoint].path;
  if (!report.asked) {
    out_ += ": not asked, ";
    append_code(report.refusal, describe(static_cast<openrtb::NonBid>(report.refusal)));
    out_ += '\n';
    return;
  }
  out_ += ": asked";
  if (index < at_.record->verdicts.size()) {
    out_ += " (";
    out_ += name_of(at_.record->verdicts[index].terms.how);
    out_ += ", given ";
    append_ms(out_, at_.record->verdicts[index].terms.offered);
    out_ += " ms)";
  }
  if (!report.answered) {
    out_ += ", silent until the end, 101 timeout\n";
    return;
  }
  out_ += ", ";
  out_ += to_string(report.outcome);
  out_ += " after ";
  append_ms(out_, report.elapsed);
  out_ += " ms, answer ";
  out_ += to_string(report.answer);
  out_ += ", bids ";
  out_ += std::to_string(report.bids);
  out_ += ", valid ";
  out_ += std::to_string(report.bids_valid);
  out_ += '\n';
  for (uint32_t i = 0; i < at_.auction->bids().size(); ++i) {
    if (at_.auction->bids()[i]->answer == index) {
      bid(*at_.auction->bids()[i], i);
    }
  }
}

void TextTelling::imps() {
  const auto cleared = at_.auction->cleared();
  for (uint32_t imp = 0; imp < at_.auction->request().imps.size(); ++imp) {
    out_ += "  imp ";
    out_ += at_.imp_id(imp);
    if (const clearing::Bid* bid = at_.winner_of(imp); bid != nullptr) {
      out_ += ": ";
      out_ += at_.snapshot->dsps[bid->dsp].name;
      out_ += " wins with bid ";
      out_ += bid->id;
      out_ += ", clearing price ";
      base::append_micros(out_, cleared[imp].gross.micros);
      out_ += ' ';
      out_ += bid->currency.view();
      append_net(*bid, cleared[imp].price);
      out_ += ", to win it took ";
      base::append_micros(out_, cleared[imp].min_to_win.micros);
    } else {
      out_ += ": no winner among the DSPs";
    }
    out_ += '\n';
  }
}

void TextTelling::non_bids() {
  for (const SeatNonBid& line : at_.auction->seat_non_bids()) {
    out_ += "  ";
    out_ += at_.snapshot->dsps[line.dsp].name;
    out_ += " imp ";
    out_ += at_.imp_id(line.imp);
    out_ += ": ";
    append_code(static_cast<uint16_t>(line.code), describe(line.code));
    if (line.loss != openrtb::Loss::kWon) {
      out_ += ", loss ";
      append_code(static_cast<uint16_t>(line.loss), describe(line.loss));
    }
    out_ += '\n';
  }
}

void TextTelling::privacy() {
  const auto decisions = at_.auction->privacy();
  for (uint32_t dsp = 0; dsp < decisions.size(); ++dsp) {
    if (decisions[dsp].copy == PrivacyClass::kFull) {
      continue;
    }
    out_ += "  ";
    out_ += at_.snapshot->dsps[dsp].name;
    out_ += " privacy: ";
    out_ += to_string(decisions[dsp].copy);
    out_ += " by ";
    out_ += to_string(decisions[dsp].reasons);
    std::string_view before = ", without or coarser: ";
    for (const std::string& path : at_.withheld_from(dsp)) {
      out_ += before;
      out_ += path;
      before = " ";
    }
    out_ += '\n';
  }
}

std::string TextTelling::text() {
  const ReplyBytes& reply = at_.auction->reply();
  out_ = "auction ";
  out_ += at_.auction->request().id;
  out_ += ": ";
  out_ += to_string(reply.kind);
  out_ += ", status ";
  out_ += std::to_string(reply.status);
  if (reply.kind != ReplyKind::kBid) {
    out_ += ", nbr ";
    append_code(static_cast<uint16_t>(reply.nbr), describe(reply.nbr));
  }
  out_ += at_.is_same() ? "\n" : "\nwarning: the reply is not the recorded one\n";
  out_ += "asked under a deadline of ";
  append_ms(out_, at_.auction->deadline() - at_.record->start.time_zero);
  out_ += " ms\ncandidates\n";
  privacy();
  for (uint32_t i = 0; i < at_.auction->candidates().size(); ++i) {
    candidate(i);
  }
  out_ += "imps\n";
  imps();
  out_ += "without the win\n";
  non_bids();
  return out_;
}

}  // namespace

std::string explain_as_text(const Explained& explained) { return TextTelling(explained).text(); }

}  // namespace spillway::exchange
