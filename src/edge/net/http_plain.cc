// The short way through HttpParser: the head of a message as nearly all are, in one piece and with
// nothing in it that a second reader could take differently. Everything else is left, unread, to
// the grammar, which alone says what is an error.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <emmintrin.h>

#include "net/http.h"
#include "net/http_parser.h"
#include "net/response_head.h"

namespace spillway::net {
namespace {

constexpr std::string_view kVersion = "HTTP/1.1";

/// RFC 9110, 5.6.2.
constexpr auto kToken = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

/// First byte from `at` on that no token may have, or `end`.
const char* skip_token(const char* at, const char* end) {
  if (end - at >= 16) {
    // Letters, digits and '-' are all that most names have; a byte from 0x80 on is none, compared
    // signed.
    __m128i bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    const __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)),
                                         _mm_cmplt_epi8(lower, _mm_set1_epi8('z' + 1)));
    const __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8('0' - 1)),
                                        _mm_cmplt_epi8(bytes, _mm_set1_epi8('9' + 1)));
    const __m128i dash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-'));
    const auto mask =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letter, digit), dash)));
    at += __builtin_ctz(~mask);  // 16 when all are
  }
  while (at < end && kToken[static_cast<unsigned char>(*at)]) {
    ++at;
  }
  return at;
}

/// First byte from `at` on that is not printable ASCII (space to tilde), or `end`.
const char* skip_printable(const char* at, const char* end) {
  const __m128i below = _mm_set1_epi8(' ' - 1);
  const __m128i rubout = _mm_set1_epi8('\x7f');
  for (; end - at >= 16; at += 16) {
    __m128i bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    // Compared signed, so that bytes from 0x80 are below too.
    const __m128i good =
        _mm_andnot_si128(_mm_cmpeq_epi8(bytes, rubout), _mm_cmpgt_epi8(bytes, below));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(good));
    if (mask != 0xffff) {
      return at + __builtin_ctz(~mask);
    }
  }
  while (at < end && *at >= ' ' && *at < '\x7f') {
    ++at;
  }
  return at;
}

bool ends_line(const char* at, const char* end) {
  return end - at >= 2 && at[0] == '\r' && at[1] == '\n';
}

bool starts_with(const char* at, const char* end, std::string_view text) {
  return static_cast<size_t>(end - at) >= text.size() &&
         std::memcmp(at, text.data(), text.size()) == 0;
}

/// Up to 15 digits; false for all else.
bool length_of(std::string_view text, uint64_t& length) {
  constexpr size_t kDigits = 15;
  length = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return false;
    }
    length = (length * 10) + static_cast<uint64_t>(c - '0');
  }
  return !text.empty() && text.size() <= kDigits;
}

}  // namespace

bool HttpParser::plain_request_line(const char*& at, const char* end) {
  const char* const method = at;
  at = skip_token(at, end);
  if (at == method || at == end || *at != ' ') {
    return false;
  }
  method_ = range(method, static_cast<size_t>(at - method));
  const char* const target = ++at;
  const char* const line_end = skip_printable(at, end);
  const auto* const space =
      static_cast<const char*>(std::memchr(target, ' ', static_cast<size_t>(line_end - target)));
  if (space == nullptr || space == target || !starts_with(space + 1, end, kVersion)) {
    return false;
  }
  target_ = range(target, static_cast<size_t>(space - target));
  at = space + 1 + kVersion.size();
  if (!ends_line(at, end)) {
    return false;
  }
  at += 2;
  return true;
}

bool HttpParser::plain_status_line(const char*& at, const char* end) {
  constexpr size_t kCodeAt = kVersion.size() + 1;
  constexpr size_t kReasonAt = kCodeAt + 4;
  if (static_cast<size_t>(end - at) < kReasonAt || !starts_with(at, end, kVersion) ||
      at[kVersion.size()] != ' ' || at[kReasonAt - 1] != ' ') {
    return false;
  }
  uint64_t code = 0;
  if (!length_of({at + kCodeAt, 3}, code)) {
    return false;
  }
  status_ = static_cast<uint16_t>(code);
  at = skip_printable(at + kReasonAt, end);
  if (!ends_line(at, end)) {
    return false;
  }
  at += 2;
  return true;
}

/// What a header means for where the message ends; false when the grammar must say.
bool HttpParser::plain_meaning(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 4:
      return kind_ != Kind::kRequest || !same_name(name, "Host") || !std::exchange(saw_host_, true);
    case 6:
      return !same_name(name, "Expect");
    case 10:
      if (same_name(name, "Connection")) {
        plain_close_ = plain_close_ || same_name(value, "close");
        return plain_close_ || same_name(value, "keep-alive");
      }
      return true;
    case 14:
      return !same_name(name, "Content-Length") ||
             (!std::exchange(saw_length_, true) && length_of(value, plain_length_));
    case 16:
      return !same_name(name, "Proxy-Connection");
    case 17:
      return !same_name(name, "Transfer-Encoding");
    default:
      return true;
  }
}

bool HttpParser::plain_field(const char*& at, const char* end) {
  const char* const name = at;
  at = skip_token(at, end);
  if (at == name || at == end || *at != ':') {
    return false;
  }
  const std::string_view name_text(name, static_cast<size_t>(at - name));
  do {
    ++at;
  } while (at < end && *at == ' ');
  const char* const value = at;
  at = skip_printable(at, end);
  if (!ends_line(at, end)) {
    return false;
  }
  const char* value_end = at;
  while (value_end > value && value_end[-1] == ' ') {
    --value_end;
  }
  at += 2;
  const std::string_view value_text(value, static_cast<size_t>(value_end - value));
  if (fields_.size() >= limits_.header_count || !plain_meaning(name_text, value_text)) {
    return false;
  }
  keep_field(name_text, value_text);
  return true;
}

bool HttpParser::read_plain_head(size_t size) {
  const char* at = message_;
  const char* const end = message_ + size;
  if (!(kind_ == Kind::kRequest ? plain_request_line(at, end) : plain_status_line(at, end))) {
    return false;
  }
  while (!ends_line(at, end)) {
    // A line that begins with a space, or a lone CR, is no token: folded ones end here.
    if (!plain_field(at, end)) {
      return false;
    }
  }
  at += 2;
  const bool framed = kind_ == Kind::kRequest ? saw_host_ : saw_length_ != bodyless(status_);
  const auto head = static_cast<size_t>(at - message_);
  if (!framed || head > limits_.header_bytes || plain_length_ > limits_.body_bytes) {
    return false;
  }
  header_bytes_ = body_at_ = head;
  return true;
}

HttpParser::Progress HttpParser::read_plain_body(size_t size) {
  body_size_ = std::min<size_t>(size - header_bytes_, plain_length_);
  raw_ = header_bytes_ + body_size_;
  return body_size_ == plain_length_ ? Progress::kWhole : Progress::kMore;
}

}  // namespace spillway::net
