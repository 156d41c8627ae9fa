#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/hmac_sha256.h"

namespace spillway::openrtb {

/// The parts of a URL's query that we write, sign as it stands with HMAC-SHA256 (its first 128
/// bits, RFC 2104 section 5) and read back in the same order. No allocation beyond `out`'s own.

/// Appends at most `most_bytes` of `text` so that it is still itself after decodeURIComponent and
/// encodeURI, as pages do to a nurl: letters, digits, "-", "_" and "." as they are, others "~xx".
void append_signable(std::string& out, std::string_view text, size_t most_bytes);

/// Appends what append_signable wrote; false, and `out` means nothing, when `text` is none of it.
[[nodiscard]] bool read_signable(std::string_view text, std::string& out);

/// Takes "name=value" off the front of a query, the "&" behind it too; `name` ends with "=".
[[nodiscard]] std::optional<std::string_view> take_field(std::string_view& query,
                                                         std::string_view name);

/// 16 digits.
void append_hex(std::string& out, uint64_t value);

/// A whole number in all of `text`.
template <typename Number>
[[nodiscard]] bool read_number(std::string_view text, Number& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// Appends the signature of `text`, 32 hexadecimal digits; `text` may be part of `out`.
void append_signature(std::string& out, const base::HmacSha256& hmac, std::string_view text);

/// Whether `tag` is that; in constant time.
[[nodiscard]] bool is_signature(const base::HmacSha256& hmac, std::string_view text,
                                std::string_view tag);

}  // namespace spillway::openrtb
