#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace spillway::openrtb {

/// Appends the text of a JSON string, given its raw bytes between the quotes: escapes decoded.
/// `raw` must have passed a walk.
void append_unescaped(std::string& out, std::string_view raw);

// The two scanners below are the inner loops of a walk, hence inline.

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

#ifdef __SSE2__
/// What find_special compares with. In memory: the compiler would rather make each of them anew for
/// every string, which costs as much as the search.
struct alignas(16) SpecialBytes {
  std::array<char, 16> quote, slash, control;
};

extern const SpecialBytes kSpecialBytes;  // NOLINT(readability-identifier-naming): a constant
#endif

/// First byte at or after `at` that is a quote, a backslash or a control character; some address
/// at or past `end` when there is none. Reads 16 bytes at least, and up to 15 past `end`. Most
/// strings of OpenRTB are shorter than one such step.
[[nodiscard]] inline const char* find_special(const char* at, const char* end) {
#ifdef __SSE2__
  const auto load = [](const std::array<char, 16>& from) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(from.data()));
  };
  const __m128i quote = load(kSpecialBytes.quote);
  const __m128i slash = load(kSpecialBytes.slash);
  const __m128i control = load(kSpecialBytes.control);
  do {
    __m128i bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    const __m128i hits =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)),
                     _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hits));
    if (mask != 0) {
      return at + std::countr_zero(mask);
    }
    at += sizeof(bytes);
  } while (at < end);
  return at;
#else
  while (at < end && static_cast<unsigned char>(*at) >= 0x20 && *at != '"' && *at != '\\') {
    ++at;
  }
  return at;
#endif
}

/// Behind the escape that starts at `at` (a backslash); nullptr when it is none, or a surrogate
/// without its other half. Reads up to 12 bytes past `at`.
[[nodiscard]] const char* skip_escape(const char* at);

/// First byte from `at` on that is no white space; not beyond `end`.
[[nodiscard]] inline const char* skip_space(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
    ++at;
  }
  return at;
}

/// Behind the closing quote, from an escape or what may not stand in a string on; nullptr when
/// there is none before `end`.
[[nodiscard]] const char* skip_rest_of_string(const char* at, const char* end);

/// Whether raw names, decoded, are all different. Sorts them: ten thousand cost k log k. `decoded`
/// is memory.
[[nodiscard]] bool all_differ(std::vector<std::string_view>& raw_names, std::string& decoded);

[[nodiscard]] inline const char* skip_digits(const char* at, const char* end) {
  while (at < end && is_digit(*at)) {
    ++at;
  }
  return at;
}

/// Behind the JSON number that starts at `at`; nullptr when there is none. Stops at `end`.
[[nodiscard]] inline const char* skip_number(const char* at, const char* end) {
  if (at < end && *at == '-') {
    ++at;
  }
  const char* const whole = at;
  at = skip_digits(at, end);
  if (at == whole || (*whole == '0' && at - whole > 1)) {
    return nullptr;
  }
  if (at < end && *at == '.') {
    const char* const fraction = ++at;
    at = skip_digits(at, end);
    if (at == fraction) {
      return nullptr;
    }
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at < end && (*at == '+' || *at == '-')) {
      ++at;
    }
    const char* const exponent = at;
    at = skip_digits(at, end);
    if (at == exponent) {
      return nullptr;
    }
  }
  return at;
}

/// The value of a JSON number when it is whole and fits, however it is spelt.
[[nodiscard]] std::optional<int64_t> whole_number(std::string_view number);

}  // namespace spillway::openrtb
