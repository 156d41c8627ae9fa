#include "openrtb/signed_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/hmac_sha256.h"

namespace spillway::openrtb {
namespace {

constexpr size_t kSignatureBytes = 16;
constexpr std::string_view kDigits = "0123456789abcdef";

// Not percent-encoded: pages decode a whole URL and encode it again, which leaves "~" alone but not
// every "%2F", and a signature is over the text.
constexpr char kEscape = '~';

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

using Tag = std::array<char, 2 * kSignatureBytes>;

Tag tag_of(const base::HmacSha256& hmac, std::string_view text) {
  const base::Digest256 digest = hmac.sign(text);
  Tag tag{};
  for (size_t i = 0; i < kSignatureBytes; ++i) {
    tag[2 * i] = kDigits[digest[i] >> 4];
    tag[2 * i + 1] = kDigits[digest[i] & 0xf];
  }
  return tag;
}

}  // namespace

void append_signable(std::string& out, std::string_view text, size_t most_bytes) {
  text = text.substr(0, most_bytes);
  for (;;) {
    const auto plain = static_cast<size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out += text.substr(0, plain);  // Mostly all of it.
    if (plain == text.size()) {
      return;
    }
    const auto byte = static_cast<unsigned char>(text[plain]);
    out += kEscape;
    out += kDigits[byte >> 4];
    out += kDigits[byte & 0xf];
    text.remove_prefix(plain + 1);
  }
}

bool read_signable(std::string_view text, std::string& out) {
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
      return false;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

std::optional<std::string_view> take_field(std::string_view& query, std::string_view name) {
  if (!query.starts_with(name)) {
    return std::nullopt;
  }
  query.remove_prefix(name.size());
  const size_t end = query.find('&');
  const std::string_view value = query.substr(0, end);
  query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  return value;
}

void append_hex(std::string& out, uint64_t value) {
  std::array<char, 16> digits{};
  for (size_t i = 0; i < digits.size(); ++i) {
    digits[i] = kDigits[(value >> (60 - 4 * i)) & 0xf];
  }
  out.append(digits.data(), digits.size());
}

void append_signature(std::string& out, const base::HmacSha256& hmac, std::string_view text) {
  const Tag tag = tag_of(hmac, text);
  out.append(tag.data(), tag.size());
}

bool is_signature(const base::HmacSha256& hmac, std::string_view text, std::string_view tag) {
  const Tag right = tag_of(hmac, text);
  return base::same_in_constant_time(tag, {right.data(), right.size()});
}

}  // namespace spillway::openrtb
