#include "base/decimal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spillway::base {

namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number taken apart: value = digits (with the point removed) * 10^exponent.
struct Parts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int64_t exponent = 0;
};

size_t digits_at(std::string_view text, size_t from) {
  size_t end = from;
  while (end < text.size() && is_digit(text[end])) {
    ++end;
  }
  return end - from;
}

bool split(std::string_view text, Parts& out) {
  size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    out.negative = true;
    ++at;
  }
  const size_t whole = digits_at(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) {
    return false;
  }
  out.whole = text.substr(at, whole);
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = digits_at(text, at + 1);
    if (fraction == 0) {
      return false;
    }
    out.fraction = text.substr(at + 1, fraction);
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    bool minus = false;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
      minus = text[at++] == '-';
    }
    const size_t digits = digits_at(text, at);
    if (digits == 0) {
      return false;
    }
    // An exponent beyond this bound means the same as the bound: zero, or out of range.
    constexpr int64_t kBound = 1'000'000'000;
    for (size_t i = 0; i < digits; ++i) {
      out.exponent = std::min(kBound, out.exponent * 10 + (text[at + i] - '0'));
    }
    at += digits;
    out.exponent = minus ? -out.exponent : out.exponent;
  }
  return at == text.size();
}

/// Prices as most are: up to nine digits, a point and up to six more, nothing lost and nothing to
/// overflow. False for all else, good or bad.
bool plain_micros(std::string_view text, int64_t& micros) {
  constexpr std::array<int64_t, 7> kUnits{1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
  const size_t whole = digits_at(text, 0);
  if (whole == 0 || whole > 9 || (whole > 1 && text.front() == '0')) {
    return false;
  }
  size_t fraction = 0;
  if (whole < text.size()) {
    fraction = text[whole] == '.' ? digits_at(text, whole + 1) : 0;
    if (fraction == 0 || fraction > 6 || whole + 1 + fraction != text.size()) {
      return false;
    }
  }
  micros = 0;
  for (const char c : text) {
    micros = c == '.' ? micros : micros * 10 + (c - '0');
  }
  micros *= kUnits[fraction];
  return true;
}

}  // namespace

Result<int64_t, DecimalErrc> parse_micros(std::string_view text, Rounding rounding) {
  if (int64_t plain = 0; plain_micros(text, plain)) {
    return plain;
  }
  Parts parts;
  if (!split(text, parts)) {
    return std::unexpected(DecimalErrc::kNotANumber);
  }
  const size_t count = parts.whole.size() + parts.fraction.size();
  const auto digit = [&](size_t i) {
    return i < parts.whole.size() ? parts.whole[i] - '0'
                                  : parts.fraction[i - parts.whole.size()] - '0';
  };
  // Digits before this index are whole micros, those from it on are lost.
  const int64_t point = static_cast<int64_t>(parts.whole.size()) + parts.exponent + 6;
  int64_t micros = 0;
  bool lost = false;
  bool started = false;
  for (size_t i = 0; i < count; ++i) {
    const int d = digit(i);
    if (static_cast<int64_t>(i) >= point) {
      lost = lost || d != 0;
      continue;
    }
    started = started || d != 0;
    if (__builtin_mul_overflow(micros, int64_t{10}, &micros) ||
        __builtin_add_overflow(micros, int64_t{d}, &micros)) {
      return std::unexpected(DecimalErrc::kOutOfRange);
    }
  }
  for (int64_t i = static_cast<int64_t>(count); started && i < point; ++i) {
    if (__builtin_mul_overflow(micros, int64_t{10}, &micros)) {
      return std::unexpected(DecimalErrc::kOutOfRange);
    }
  }
  const bool away = lost && (rounding == Rounding::kUp) != parts.negative;
  if (away && micros == std::numeric_limits<int64_t>::max()) {
    return std::unexpected(DecimalErrc::kOutOfRange);
  }
  micros += away ? 1 : 0;
  return parts.negative ? -micros : micros;
}

void append_micros(std::string& out, int64_t micros) {
  std::array<char, 24> text{};
  auto magnitude = static_cast<uint64_t>(micros);
  if (micros < 0) {
    out.push_back('-');
    magnitude = 0 - magnitude;
  }
  const auto whole = std::to_chars(text.data(), text.data() + text.size(), magnitude / 1'000'000);
  out.append(text.data(), whole.ptr);
  uint64_t fraction = magnitude % 1'000'000;
  if (fraction == 0) {
    return;
  }
  out.push_back('.');
  for (uint64_t unit = 100'000; fraction != 0; unit /= 10) {
    out.push_back(static_cast<char>('0' + fraction / unit));
    fraction %= unit;
  }
}

}  // namespace spillway::base
