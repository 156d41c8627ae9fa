#include "exchange/prebid_answer.h"

#include <chrono>
#include <string>
#include <string_view>

#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/signed_url.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

using openrtb::Document;
using openrtb::EventKind;
using openrtb::Key;
using openrtb::Kind;
using openrtb::MediaType;
using openrtb::NodeId;

const Document& document_of(const Conclusion& end, const clearing::Bid& bid) {
  return end.calls[bid.answer]->document;
}

bool has_events(const Conclusion& end) {
  return end.snapshot->events.signer != nullptr && !end.request->test;
}

/// In quotes.
void append_event_url(std::string& out, const Conclusion& end, const clearing::Bid& bid,
                      EventKind kind) {
  const EventUrls& events = end.snapshot->events;
  const openrtb::Event event{
      .kind = kind,
      .auction = end.bidid,
      .imp = bid.imp,
      .seat = bid.seat.substr(0, openrtb::kEventTextBytes),
      .bid_id = bid.id.substr(0, openrtb::kEventTextBytes),
      .instance = events.instance,
      .expires_s = end.start->wall_ms / 1'000 +
                   std::chrono::duration_cast<std::chrono::seconds>(events.lifetime).count()};
  out += '"';
  events.signer->append_url(out, event);
  out += '"';
}

/// A banner without a size on an imp that has one.
bool lacks_size(const Conclusion& end, const clearing::Bid& bid) {
  return bid.media == MediaType::kBanner && bid.size == openrtb::Size{} &&
         !end.request->imps[bid.imp].sizes.empty();
}

bool lacks_crid(const Document& document, const clearing::Bid& bid) {
  return document.raw_string(document.find(bid.node, Key::crid)).empty();
}

void append_ext(std::string& out, const Conclusion& end, const clearing::Bid& bid) {
  const Document& document = document_of(end, bid);
  out += "\"ext\":{\"prebid\":{\"type\":\"";
  out += prebid_type_of(bid.media);
  out += '"';
  if (has_events(end)) {
    out += ",\"events\":{\"win\":";
    append_event_url(out, end, bid, EventKind::kWin);
    out += '}';
  }
  out += '}';
  const NodeId ext = document.find(bid.node, Key::ext);
  if (document.is(ext, Kind::kObject)) {
    for (const NodeId member : document.children(ext)) {
      const openrtb::Node& node = document.node(member);
      if (node.key != Key::prebid) {
        out += ",\"";
        out += document.text().substr(node.key_begin, node.key_length);
        out += "\":";
        out += document.raw(member);
      }
    }
  }
  out += "},";
}

}  // namespace

void append_event_urls(std::string& out, const Conclusion& end, const clearing::Bid& bid) {
  if (!has_events(end)) {
    return;
  }
  const bool is_page = end.start->has_origin;
  if (!is_page || (bid.media == MediaType::kBanner && !end.is_for_prebid())) {
    out += "\"nurl\":";
    append_event_url(out, end, bid, EventKind::kWin);
    out += ',';
  }
  out += "\"burl\":";
  append_event_url(out, end, bid, EventKind::kImp);
  out += ',';
}

bool is_prebid_member(const Conclusion& end, const clearing::Bid& bid, NodeId member) {
  switch (document_of(end, bid).node(member).key) {
    case Key::ext:
      return true;
    case Key::crid:
      return lacks_crid(document_of(end, bid), bid);
    case Key::w:
    case Key::h:
      return lacks_size(end, bid);
    default:
      return false;
  }
}

void append_prebid_members(std::string& out, const Conclusion& end, const clearing::Bid& bid) {
  if (lacks_crid(document_of(end, bid), bid)) {
    out += "\"crid\":";
    openrtb::append_json_string(out, bid.id);
    out += ',';
  }
  if (lacks_size(end, bid)) {
    const openrtb::Size size = end.request->imps[bid.imp].sizes.front();
    out += "\"w\":" + std::to_string(size.w) + ",\"h\":" + std::to_string(size.h) + ',';
  }
  append_ext(out, end, bid);
}

std::string_view prebid_type_of(MediaType media) {
  switch (media) {
    case MediaType::kBanner:
      return "banner";
    case MediaType::kVideo:
      return "video";
    case MediaType::kAudio:
      return "audio";
    case MediaType::kNative:
      return "native";
  }
  return "";
}

}  // namespace spillway::exchange
