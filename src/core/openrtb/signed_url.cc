#include "openrtb/signed_url.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hmac_sha256.h"
#include "base/result.h"

namespace spillway::openrtb {

namespace {

constexpr std::string_view kSignature = "&h=";
constexpr size_t kSignatureBytes = 16;

// Not percent-encoded: pages decode a whole URL and encode it again, which leaves "~" alone but not
// every "%2F", and a signature is over the text.
constexpr char kEscape = '~';

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

void append_encoded(std::string& out, std::string_view text) {
  for (const char c : text.substr(0, kEventTextBytes)) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += kEscape;
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 0xf];
  }
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEscape) {
      out += text[i];
      continue;
    }
    uint8_t byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

void append_hex(std::string& out, uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(value >> shift) & 0xf];
  }
}

std::string signature(const base::HmacSha256& hmac, std::string_view text) {
  const base::Digest256 digest = hmac.sign(text);
  std::string out;
  for (size_t i = 0; i < kSignatureBytes; ++i) {
    out += "0123456789abcdef"[digest[i] >> 4];
    out += "0123456789abcdef"[digest[i] & 0xf];
  }
  return out;
}

/// Takes "name=value" off the front of a query, the "&" behind it too.
std::optional<std::string_view> take(std::string_view& query, std::string_view name) {
  if (!query.starts_with(name)) {
    return std::nullopt;
  }
  query.remove_prefix(name.size());
  const size_t end = query.find('&');
  const std::string_view value = query.substr(0, end);
  query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  return value;
}

template <typename Number>
bool read_number(std::string_view text, Number& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_text(std::optional<std::string_view> text, std::string& out) {
  auto plain = text ? decoded(*text) : std::nullopt;
  if (!plain) {
    return false;
  }
  out = std::move(*plain);
  return true;
}

bool read_fields(std::string_view query, Event& out) {
  const auto kind = take(query, "type=");
  if (!kind || (*kind != "win" && *kind != "imp")) {
    return false;
  }
  out.kind = *kind == "win" ? EventKind::kWin : EventKind::kImp;
  const auto auction = take(query, "a=");
  const auto imp = take(query, "i=");
  if (!auction || !imp || !read_number(*auction, out.auction, 16) || !read_number(*imp, out.imp)) {
    return false;
  }
  if (!read_text(take(query, "s="), out.seat) || !read_text(take(query, "b="), out.bid_id) ||
      !read_text(take(query, "n="), out.instance)) {
    return false;
  }
  const auto expires = take(query, "x=");
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
  append_encoded(out, event.seat);
  out += "&b=";
  append_encoded(out, event.bid_id);
  out += "&n=";
  append_encoded(out, event.instance);
  out += "&x=";
  out += std::to_string(event.expires_s);
  out += "&k=";
  out += signers_.front().id;
  const std::string tag = signature(signers_.front().hmac, std::string_view(out).substr(begin));
  out += kSignature;
  out += tag;
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
    is_ours = is_ours || (text.ends_with(suffix) &&
                          base::same_in_constant_time(rest, signature(signer.hmac, text)));
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
