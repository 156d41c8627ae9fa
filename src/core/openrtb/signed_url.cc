#include "openrtb/signed_url.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hmac_sha256.h"
#include "base/result.h"
#include "openrtb/signed_query.h"

namespace spillway::openrtb {

namespace {

constexpr std::string_view kSignature = "&h=";

bool read_text(std::optional<std::string_view> text, std::string& out) {
  out.clear();
  return text && read_signable(*text, out);
}

bool read_fields(std::string_view query, Event& out) {
  const auto kind = take_field(query, "type=");
  if (!kind || (*kind != "win" && *kind != "imp")) {
    return false;
  }
  out.kind = *kind == "win" ? EventKind::kWin : EventKind::kImp;
  const auto auction = take_field(query, "a=");
  const auto imp = take_field(query, "i=");
  if (!auction || !imp || !read_number(*auction, out.auction, 16) || !read_number(*imp, out.imp)) {
    return false;
  }
  if (!read_text(take_field(query, "s="), out.seat) ||
      !read_text(take_field(query, "b="), out.bid_id) ||
      !read_text(take_field(query, "n="), out.instance)) {
    return false;
  }
  const auto expires = take_field(query, "x=");
  return expires && read_number(*expires, out.expires_s);
}

}  // namespace

std::string_view to_string(EventKind kind) { return kind == EventKind::kWin ? "win" : "imp"; }

std::string_view to_string(EventErrc error) {
  switch (error) {
    case EventErrc::kMalformed:
      return "malformed";
    case EventErrc::kBadSignature:
      return "bad_signature";
    case EventErrc::kExpired:
      return "expired";
  }
  return "";
}

EventSigner::EventSigner(std::string base, const std::vector<Key>& keys) : base_(std::move(base)) {
  for (const Key& key : keys) {
    signers_.push_back({.id = key.id, .hmac = base::HmacSha256(key.secret)});
  }
}

void EventSigner::append_url(std::string& out, const Event& event) const {
  out += base_;
  out += "/event?";
  const size_t begin = out.size();
  out += "type=";
  out += to_string(event.kind);
  out += "&a=";
  append_hex(out, event.auction);
  out += "&i=";
  out += std::to_string(event.imp);
  out += "&s=";
  append_signable(out, event.seat, kEventTextBytes);
  out += "&b=";
  append_signable(out, event.bid_id, kEventTextBytes);
  out += "&n=";
  append_signable(out, event.instance, kEventTextBytes);
  out += "&x=";
  out += std::to_string(event.expires_s);
  out += "&k=";
  out += signers_.front().id;
  const size_t end = out.size();
  out += kSignature;
  append_signature(out, signers_.front().hmac, std::string_view(out).substr(begin, end - begin));
}

base::Result<Event, EventErrc> EventSigner::read(std::string_view query, int64_t now_s) const {
  const size_t end = query.find(kSignature);
  if (end == std::string_view::npos) {
    return std::unexpected(EventErrc::kMalformed);
  }
  const std::string_view text = query.substr(0, end);
  std::string_view rest = query.substr(end + kSignature.size());
  rest = rest.substr(0, rest.find('&'));
  bool is_ours = false;
  for (const Signer& signer : signers_) {
    const std::string suffix = "&k=" + signer.id;
    is_ours = is_ours || (text.ends_with(suffix) && is_signature(signer.hmac, text, rest));
  }
  if (!is_ours) {
    return std::unexpected(EventErrc::kBadSignature);
  }
  Event event;
  if (!read_fields(text, event)) {
    return std::unexpected(EventErrc::kMalformed);
  }
  if (event.expires_s < now_s) {
    return std::unexpected(EventErrc::kExpired);
  }
  return event;
}

}  // namespace spillway::openrtb
