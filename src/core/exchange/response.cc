#include "exchange/response.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/decimal.h"
#include "exchange/auction.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "exchange/debug_calls.h"
#include "exchange/house.h"
#include "exchange/non_bids.h"
#include "exchange/prebid_answer.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/macros.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

/// Of most answers; the body leaves with each of them, so it grows in one step.
constexpr size_t kUsualBytes = 1'000;

using openrtb::Document;
using openrtb::Key;
using openrtb::Kind;
using openrtb::MediaType;
using openrtb::NodeId;

/// Source: OpenRTB 2.6 List: Creative Markup Types.
char mtype_of(MediaType media) {
  switch (media) {
    case MediaType::kBanner:
      return '1';
    case MediaType::kVideo:
      return '2';
    case MediaType::kAudio:
      return '3';
    case MediaType::kNative:
      return '4';
  }
  return '1';
}

/// Members of a bid that are written anew or not at all.
bool is_left_out(const Document& document, NodeId member) {
  switch (document.node(member).key) {
    case Key::price:
    case Key::nurl:
    case Key::burl:
    case Key::lurl:
      return true;
    case Key::mtype: {
      const auto value = document.integer(member);
      return !value || *value < 1 || *value > 4;
    }
    case Key::ext:
      return !document.is(member, Kind::kObject);
    default:
      return false;
  }
}

std::string_view raw_key(const Document& document, NodeId member) {
  const openrtb::Node& node = document.node(member);
  return document.text().substr(node.key_begin, node.key_length);
}

void append_strings(std::string& out, std::string_view key, const std::vector<std::string>& list) {
  if (list.empty()) {
    return;
  }
  out += ",\"";
  out += key;
  out += "\":[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) {
      out += ',';
    }
    openrtb::append_json_string(out, list[i]);
  }
  out += ']';
}

std::string_view raw_imp_id(const Conclusion& end, uint32_t imp) {
  return end.document->raw(end.document->find(end.request->imps[imp].node, Key::id));
}

void append_hex(std::string& out, uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    out += kDigits[(value >> shift) & 0xf];
  }
}

void append_ext(std::string& out, const Conclusion& end) {
  out += ",\"ext\":{\"warnings\":[";
  const auto& warnings = end.request->warnings;
  for (size_t i = 0; i < warnings.size(); ++i) {
    if (i != 0) {
      out += ',';
    }
    openrtb::append_json_string(out, warnings[i]);
  }
  const bool shows_calls = end.account->shows_calls;
  if (end.request->debug && !shows_calls) {
    out += warnings.empty() ? "" : ",";
    out += "\"ext.debug: this account is not shown the calls to DSPs\"";
  }
  out += ']';
  append_seat_non_bids(out, end, list_non_bids(end));
  if (shows_calls) {
    append_debug_calls(out, end);
  }
  out += '}';
}

}  // namespace

void ResponseWriter::collect_lines(const Conclusion& end) {
  lines_.clear();
  for (uint32_t imp = 0; imp < end.cleared.size(); ++imp) {
    if (const clearing::Bid* bid = end.winner_of(imp); bid != nullptr) {
      lines_.push_back({.seat = end.is_for_prebid()
                                    ? end.prebid->seat(*end.snapshot, *end.document, bid->dsp, imp)
                                    : std::string_view(bid->seat),
                        .imp = imp,
                        .bid = bid});
    }
  }
  for (const HouseFill& fill : end.house) {
    lines_.push_back({.seat = end.snapshot->house_seat, .imp = fill.imp, .house = &fill});
  }
  std::ranges::sort(lines_, [](const Line& a, const Line& b) {
    return std::tie(a.seat, a.imp) < std::tie(b.seat, b.imp);
  });
}

void ResponseWriter::append_bid(std::string& out, const Conclusion& end, const Line& line) {
  const clearing::Bid& bid = *line.bid;
  const Document& document = end.calls[bid.answer]->document;
  out += '{';
  const bool is_for_prebid = end.is_for_prebid();
  bool has_mtype = false;
  for (const NodeId member : document.children(bid.node)) {
    if (is_left_out(document, member) || (is_for_prebid && is_prebid_member(end, bid, member))) {
      continue;
    }
    const Key key = document.node(member).key;
    has_mtype = has_mtype || key == Key::mtype;
    out += '"';
    out += raw_key(document, member);
    out += "\":";
    if (key == Key::adm && document.raw_string(member).contains("${")) {
      out += '"';
      openrtb::append_expanded_json(out, document.raw_string(member), macros_.of_winner(end, bid),
                                    openrtb::MacroContext::kMarkup);
      out += '"';
    } else {
      out += document.raw(member);
    }
    out += ',';
  }
  if (!has_mtype) {
    out += "\"mtype\":";
    out += mtype_of(bid.media);
    out += ',';
  }
  append_event_urls(out, end, bid);
  if (is_for_prebid) {
    append_prebid_members(out, end, bid);
  }
  out += "\"price\":";
  base::append_micros(out, end.cleared[line.imp].price.micros);
  out += '}';
}

void ResponseWriter::append_house(std::string& out, const Conclusion& end, const Line& line) {
  const HouseAd& ad = end.snapshot->house_ads[line.house->ad];
  price_.clear();
  base::append_micros(price_, line.house->price.micros);
  out += "{\"id\":\"house-";
  out += std::to_string(line.imp);
  out += "\",\"impid\":";
  out += raw_imp_id(end, line.imp);
  out += ",\"crid\":\"house-";
  out += std::to_string(line.house->ad);
  out += "\",\"adm\":";
  imp_ts_ = std::to_string(end.start->wall_ms);
  text_.clear();
  const openrtb::MacroValues values{.auction_id = end.request->id,
                                    .imp_id = end.request->imps[line.imp].id,
                                    .seat_id = end.snapshot->house_seat,
                                    .price = price_,
                                    .currency = end.currency.view(),
                                    .imp_ts = imp_ts_};
  openrtb::append_expanded(text_, ad.adm, values, openrtb::MacroContext::kMarkup);
  openrtb::append_json_string(out, text_);
  append_strings(out, "adomain", ad.adomain);
  append_strings(out, "cat", ad.cat);
  if (ad.w > 0 && ad.h > 0) {
    out += ",\"w\":" + std::to_string(ad.w) + ",\"h\":" + std::to_string(ad.h);
  }
  out += ",\"mtype\":";
  out += mtype_of(ad.type);
  out += ",\"price\":";
  out += price_;
  out += ",\"ext\":{\"house\":1";
  if (end.is_for_prebid()) {
    out += ",\"prebid\":{\"type\":\"";
    out += prebid_type_of(ad.type);
    out += "\"}";
  }
  out += "}}";
}

void ResponseWriter::append_seat_bids(std::string& out, const Conclusion& end) {
  out += ",\"seatbid\":[";
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    if (i != 0 && lines_[i - 1].seat == line.seat) {
      out += ',';
    } else {
      out += i == 0 ? "{\"bid\":[" : ",{\"bid\":[";
    }
    if (line.bid != nullptr) {
      append_bid(out, end, line);
    } else {
      append_house(out, end, line);
    }
    if (i + 1 == lines_.size() || lines_[i + 1].seat != line.seat) {
      out += "],\"seat\":";
      openrtb::append_json_string(out, line.seat);
      out += '}';
    }
  }
  out += ']';
}

void ResponseWriter::write(const Conclusion& end, ReplyBytes& out) {
  collect_lines(end);
  const openrtb::RequestView& request = *end.request;
  const bool is_explained = request.test || request.debug;
  const bool is_shed = end.start->shed.least() > 0;
  const bool is_won = std::ranges::any_of(lines_, [](const Line& line) { return line.bid; });
  out.body.clear();
  out.nbr = is_won ? openrtb::NoBid::kUnknown : end.nbr;
  out.kind = is_won            ? ReplyKind::kBid
             : !lines_.empty() ? ReplyKind::kHouse
             : is_shed         ? ReplyKind::kShed
                               : ReplyKind::kNoBid;
  if (lines_.empty() && !is_explained && !end.start->has_origin && !end.account->no_bid_as_200) {
    out.status = 204;
    out.json = false;
    return;
  }
  out.status = 200;
  out.json = true;
  out.body.reserve(kUsualBytes);
  out.body += "{\"id\":";
  out.body += end.document->raw(end.document->find(end.document->root(), Key::id));
  if (lines_.empty()) {
    out.body += ",\"nbr\":" + std::to_string(static_cast<uint16_t>(end.nbr));
  } else {
    append_seat_bids(out.body, end);
    out.body += ",\"bidid\":\"";
    append_hex(out.body, end.bidid);
    out.body += "\",\"cur\":\"";
    out.body += end.currency.view();
    out.body += '"';
  }
  if (is_explained) {
    append_ext(out.body, end);
  }
  out.body += '}';
}

void write_invalid(const openrtb::FieldError& error, ReplyBytes& out) {
  out.kind = ReplyKind::kInvalid;
  out.status = 400;
  out.json = true;
  out.body = openrtb::error_json(error);
  out.nbr = openrtb::NoBid::kInvalidRequest;
}

void write_shed(const Account& account, const Start& start, ReplyBytes& out) {
  out.kind = ReplyKind::kShed;
  out.nbr = openrtb::NoBid::kShed;
  out.json = start.has_origin || account.no_bid_as_200;
  out.status = out.json ? 200 : 204;
  out.body = out.json ? R"({"id":"","nbr":525})" : "";
}

void write_unsupported(ReplyBytes& out) {
  out.kind = ReplyKind::kUnsupported;
  out.status = 415;
  out.json = false;
  out.body.clear();
  out.nbr = openrtb::NoBid::kInvalidRequest;
}

}  // namespace spillway::exchange
