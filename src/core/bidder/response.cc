#include "bidder/response.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "bidder/canonical.h"
#include "bidder/markup.h"
#include "bidder/model.h"
#include "bidder/notice.h"
#include "openrtb/document.h"
#include "openrtb/signed_query.h"

namespace spillway::bidder {
namespace {

template <typename Number>
void append_number(std::string& out, Number value) {
  std::array<char, 24> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_key(std::string& out, std::string_view name) {
  out += ",\"";
  out += name;
  out += "\":";
}

template <typename Number>
void append_member(std::string& out, std::string_view name, Number value) {
  append_key(out, name);
  append_number(out, value);
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  append_key(out, name);
  openrtb::append_json_string(out, text);
}

/// An id that the field wants as text.
void append_id(std::string& out, std::string_view name, int64_t id) {
  append_key(out, name);
  out += '"';
  append_number(out, id);
  out += '"';
}

template <typename List, typename Append>
void append_list(std::string& out, std::string_view name, const List& list, Append append) {
  if (std::ranges::empty(list)) {
    return;
  }
  append_key(out, name);
  char before = '[';
  for (const auto& item : list) {
    out += before;
    append(item);
    before = ',';
  }
  out += ']';
}

void append_addresses(std::string& out, const AnswerToWrite& answer, const BidToWrite& bid,
                      std::string& claims) {
  claims.clear();
  answer.signer->append_claims(claims, answer.exchange, answer.request, bid.imp, bid.claims);
  const auto append = [&](std::string_view name, NoticeKind kind) {
    append_key(out, name);
    out += '"';
    answer.signer->append_url(out, answer.exchange, kind, claims);
    out += '"';
  };
  append("nurl", NoticeKind::kWin);
  append("burl", NoticeKind::kBilling);
  append("lurl", NoticeKind::kLoss);
}

int mtype(Media media) {
  switch (media) {
    case Media::kBanner:
      return 1;
    case Media::kVideo:
      return 2;
    case Media::kAudio:
      return 3;
    case Media::kNative:
      return 4;
  }
  return 1;
}

// Categories of the request's taxonomy, or, without any, those of the one that goes without saying.
void append_categories(std::string& out, const Advertiser& advertiser, int64_t cattax) {
  const auto is_in = [](const std::string& category, int64_t taxonomy) {
    return taxonomy_of(category) == taxonomy;
  };
  const bool has_some = std::ranges::any_of(
      advertiser.categories, [&](const std::string& category) { return is_in(category, cattax); });
  const int64_t said = has_some ? cattax : 1;
  bool first = true;
  for (const std::string& category : advertiser.categories) {
    if (is_in(category, said)) {
      if (first) {
        append_key(out, "cat");
      }
      out += first ? '[' : ',';
      first = false;
      const size_t code = said == 1 ? 0 : category.find(':') + 1;
      openrtb::append_json_string(out, std::string_view(category).substr(code));
    }
  }
  if (!first) {
    out += ']';
  }
  if (!first && said != 1) {
    append_member(out, "cattax", said);
  }
}

void append_advertiser(std::string& out, const Advertiser& advertiser, int64_t cattax) {
  append_key(out, "adomain");
  out += '[';
  openrtb::append_json_string(out, advertiser.domain);
  out += ']';
  append_categories(out, advertiser, cattax);
}

void append_creative(std::string& out, const Creative& creative) {
  const auto number = [&](uint16_t value) { append_number(out, value); };
  append_member(out, "mtype", mtype(creative.media));
  append_list(out, "attr", creative.attributes, number);
  append_list(out, "apis", creative.apis, number);
  if (creative.duration_s > 0) {
    append_member(out, "dur", creative.duration_s);
  }
  if (creative.protocols.size() == 1) {
    append_member(out, "protocol", creative.protocols.front());
  }
  if (!creative.language.empty()) {
    append_text(out, "language", creative.language);
  }
}

void append_bid(std::string& out, const AnswerToWrite& answer, const BidToWrite& bid,
                WriterMemory& memory) {
  const Creative& creative = *bid.creative;
  memory.bid_id.clear();
  append_bid_id(memory.bid_id, bid.claims);
  out += R"({"id":")";
  out += memory.bid_id;
  out += '"';
  append_text(out, "impid", bid.imp);
  append_key(out, "price");
  base::append_micros(out, bid.price.micros);
  memory.markup.clear();
  append_markup(
      memory.markup, creative,
      {.campaign = bid.claims.campaign, .line_item = bid.line_item, .bid_id = memory.bid_id});
  append_text(out, "adm", memory.markup);
  append_advertiser(out, *bid.advertiser, answer.cattax);
  append_id(out, "cid", bid.claims.campaign);
  append_id(out, "crid", creative.id);
  append_creative(out, creative);
  if (bid.w > 0 && bid.h > 0) {
    append_member(out, "w", bid.w);
    append_member(out, "h", bid.h);
  }
  if (!bid.deal.empty()) {
    append_text(out, "dealid", bid.deal);
  }
  if (answer.expires_in_s > 0) {
    append_member(out, "exp", answer.expires_in_s);
  }
  if (answer.signer != nullptr) {
    append_addresses(out, answer, bid, memory.claims);
  }
  out += '}';
}

void append_explain(std::string& out, std::string_view explain) {
  if (!explain.empty()) {
    out += R"(,"ext":{"explain":)";
    out += explain;
    out += '}';
  }
}

}  // namespace

void append_bid_id(std::string& out, const Claims& claims) { openrtb::append_hex(out, claims.bid); }

void append_answer(std::string& out, const AnswerToWrite& answer, std::span<const BidToWrite> bids,
                   WriterMemory& memory) {
  out += R"({"id":)";
  openrtb::append_json_string(out, answer.request);
  append_text(out, "cur", answer.currency.view());
  out += R"(,"seatbid":[{"bid":[)";
  bool first = true;
  for (const auto& bid : bids) {
    out += first ? "" : ",";
    first = false;
    append_bid(out, answer, bid, memory);
  }
  out += ']';
  if (!answer.seat.empty()) {
    append_text(out, "seat", answer.seat);
  }
  out += "}]";
  append_explain(out, answer.explain);
  out += '}';
}

void append_no_bid(std::string& out, std::string_view request, int nbr, std::string_view explain) {
  out += R"({"id":)";
  openrtb::append_json_string(out, request);
  append_member(out, "nbr", nbr);
  append_explain(out, explain);
  out += '}';
}

}  // namespace spillway::bidder
