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
#include "openrtb/document.h"
#include "resilience/outcome.h"

namespace spillway::exchange {

namespace {

/// Writes the facts as JSON.
class JsonTelling {
 public:
  explicit JsonTelling(const Explained& explained) : at_(explained) {}

  std::string json();

 private:
  void candidate(uint32_t index);
  void bid(const clearing::Bid& offer, uint32_t index);
  void imps();
  void privacy();
  void non_bids();

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
    append_ms(out_, value);
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

  Explained at_;
  std::string out_;
};

void JsonTelling::bid(const clearing::Bid& offer, uint32_t index) {
  next();
  out_ += '{';
  member("id", offer.id);
  member("seat", offer.seat);
  member("impid", offer.impid);
  member_cpm("price", offer.price);
  member_cpm("net", offer.net());
  member("cur", offer.currency.view());
  member_bool("won", at_.is_winner(index));
  if (!at_.is_winner(index)) {
    member("loss", static_cast<int64_t>(offer.loss));
    member("statuscode", static_cast<int64_t>(offer.duplicate ? openrtb::NonBid::kDuplicate
                                                              : openrtb::non_bid_of(offer.loss)));
    member("why", offer.duplicate ? describe(openrtb::NonBid::kDuplicate) : describe(offer.loss));
  }
  member("warnings", offer.warnings);
  out_ += '}';
}

void JsonTelling::candidate(uint32_t index) {
  const Candidate& asked = at_.auction->candidates()[index];
  const CandidateReport& report = at_.auction->report(index);
  next();
  out_ += '{';
  member("dsp", at_.snapshot->dsps[asked.dsp].name);
  member("path", at_.snapshot->dsps[asked.dsp].endpoints[asked.endpoint].path);
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
    for (uint32_t i = 0; i < at_.auction->bids().size(); ++i) {
      if (at_.auction->bids()[i]->answer == index) {
        bid(*at_.auction->bids()[i], i);
      }
    }
    out_ += ']';
  }
  out_ += '}';
}

void JsonTelling::imps() {
  const auto cleared = at_.auction->cleared();
  for (uint32_t imp = 0; imp < at_.auction->request().imps.size(); ++imp) {
    next();
    out_ += '{';
    member("id", at_.imp_id(imp));
    if (const clearing::Bid* bid = at_.winner_of(imp); bid != nullptr) {
      member("dsp", at_.snapshot->dsps[bid->dsp].name);
      member("bid", bid->id);
      member_cpm("clearing_price", cleared[imp].gross);
      member_cpm("net_price", cleared[imp].price);
      member_cpm("min_to_win", cleared[imp].min_to_win);
      member("cur", bid->currency.view());
    }
    out_ += '}';
  }
}

void JsonTelling::non_bids() {
  for (const SeatNonBid& line : at_.auction->seat_non_bids()) {
    next();
    out_ += '{';
    member("dsp", at_.snapshot->dsps[line.dsp].name);
    member("imp", at_.imp_id(line.imp));
    member("statuscode", static_cast<int64_t>(line.code));
    member("why", describe(line.code));
    if (line.loss != openrtb::Loss::kWon) {
      member("loss", static_cast<int64_t>(line.loss));
      member("loss_why", describe(line.loss));
    }
    out_ += '}';
  }
}

void JsonTelling::privacy() {
  const auto decisions = at_.auction->privacy();
  for (uint32_t dsp = 0; dsp < decisions.size(); ++dsp) {
    if (decisions[dsp].copy == PrivacyClass::kFull) {
      continue;
    }
    next();
    out_ += '{';
    member("dsp", at_.snapshot->dsps[dsp].name);
    member("copy", to_string(decisions[dsp].copy));
    member("reasons", to_string(decisions[dsp].reasons));
    key("withheld");
    out_ += '[';
    for (const std::string& path : at_.withheld_from(dsp)) {
      next();
      openrtb::append_json_string(out_, path);
    }
    out_ += "]}";
  }
}

std::string JsonTelling::json() {
  const ReplyBytes& reply = at_.auction->reply();
  out_ = "{";
  member("id", at_.auction->request().id);
  member("kind", to_string(reply.kind));
  member("status", reply.status);
  member("nbr", static_cast<int64_t>(reply.nbr));
  member("nbr_why", describe(reply.nbr));
  member_bool("same_as_recorded", at_.is_same());
  member_ms("deadline_ms", at_.auction->deadline() - at_.record->start.time_zero);
  key("privacy");
  out_ += '[';
  privacy();
  out_ += ']';
  key("candidates");
  out_ += '[';
  for (uint32_t i = 0; i < at_.auction->candidates().size(); ++i) {
    candidate(i);
  }
  out_ += ']';
  key("imps");
  out_ += '[';
  imps();
  out_ += ']';
  key("nonbids");
  out_ += '[';
  non_bids();
  out_ += "]}";
  return out_;
}

}  // namespace

std::string explain_as_json(const Explained& explained) { return JsonTelling(explained).json(); }

}  // namespace spillway::exchange
