#include "openrtb/json_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "openrtb/document.h"

namespace spillway::openrtb {

namespace {

constexpr int hex_value(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The four hex digits at `at`; negative when they are none.
constexpr int32_t hex4(const char* at) {
  int32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(at[i]);
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&out](uint32_t bits) { out += static_cast<char>(0x80 | (bits & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(code);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(code >> 6);
    tail(code);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(code >> 12);
    tail(code >> 6);
    tail(code);
  }
}

/// Bytes at the front of `text` that stand in a JSON string as they are. Reads nothing behind it.
size_t plain_bytes(std::string_view text) {
  constexpr size_t kStep = 16;  // Of find_special.
  const size_t steps = text.size() / kStep * kStep;
  size_t i = 0;
  if (steps > 0) {
    const char* const begin = text.data();
    i = static_cast<size_t>(find_special(begin, begin + steps) - begin);
    if (i < steps) {
      return i;
    }
  }
  const auto is_plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
  };
  while (i < text.size() && is_plain(text[i])) {
    ++i;
  }
  return i;
}

constexpr std::string_view kEscapeLetters = "\"\\/bfnrt";
constexpr std::string_view kEscapeValues = "\"\\/\b\f\n\r\t";

}  // namespace

#ifdef __SSE2__
constexpr SpecialBytes kSpecialBytes = [] {
  SpecialBytes bytes{};
  bytes.quote.fill('"');
  bytes.slash.fill('\\');
  bytes.control.fill('\x1f');
  return bytes;
}();
#endif

const char* skip_escape(const char* at) {
  switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return at + 2;
    case 'u':
      break;
    default:
      return nullptr;
  }
  const int32_t unit = hex4(at + 2);
  if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) {
    return nullptr;
  }
  if (unit < 0xd800 || unit > 0xdbff) {
    return at + 6;
  }
  if (at[6] != '\\' || at[7] != 'u') {
    return nullptr;
  }
  const int32_t low = hex4(at + 8);
  return low >= 0xdc00 && low <= 0xdfff ? at + 12 : nullptr;
}

const char* skip_rest_of_string(const char* at, const char* end) {
  while (at < end && *at != '"') {
    at = *at == '\\' ? skip_escape(at) : nullptr;
    if (at == nullptr) {
      return nullptr;
    }
    at = find_special(at, end);
  }
  return at < end ? at + 1 : nullptr;
}

bool all_differ(std::vector<std::string_view>& raw_names, std::string& decoded) {
  size_t escaped_bytes = 0;
  for (const std::string_view name : raw_names) {
    escaped_bytes += name.contains('\\') ? name.size() : 0;
  }
  decoded.clear();
  // Decoding never makes a name longer: the views below stay where they are.
  decoded.reserve(escaped_bytes);
  for (std::string_view& name : raw_names) {
    if (name.contains('\\')) {
      const size_t begin = decoded.size();
      append_unescaped(decoded, name);
      name = std::string_view(decoded).substr(begin);
    }
  }
  std::ranges::sort(raw_names, [](std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return std::ranges::adjacent_find(raw_names) == raw_names.end();
}

std::optional<int64_t> whole_number(std::string_view number) {
  constexpr size_t kSafe = 18;  // So many digits always fit.
  if (number.size() <= kSafe) {
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < number.size() && is_digit(number[digits]); ++digits) {
      value = value * 10 + (number[digits] - '0');
    }
    if (digits == number.size()) {
      return value;
    }
    // A plain fraction: whole only when all of it is zeros.
    if (digits > 0 && number[digits] == '.') {
      size_t at = digits + 1;
      bool whole = true;
      for (; at < number.size() && is_digit(number[at]); ++at) {
        whole = whole && number[at] == '0';
      }
      if (at == number.size()) {
        return whole ? std::optional(value) : std::nullopt;
      }
    }
  }
  const char* const end = number.data() + number.size();
  const bool negative = number.starts_with('-');
  number.remove_prefix(negative ? 1 : 0);
  const size_t mark = std::min(number.find_first_of("eE"), number.size());
  int64_t exponent = 0;
  if (mark < number.size()) {
    const size_t sign = number[mark + 1] == '+' ? 1 : 0;
    const auto parsed = std::from_chars(number.data() + mark + 1 + sign, end, exponent);
    constexpr int64_t kFar = int64_t{1} << 40;  // Farther than any document is long.
    exponent = parsed.ec == std::errc{} ? std::clamp(exponent, -kFar, kFar)
                                        : (number[mark + 1] == '-' ? -kFar : kFar);
  }
  const std::string_view digits = number.substr(0, mark);
  const size_t last = digits.find_last_not_of("0.");
  if (last == std::string_view::npos) {
    return 0;
  }
  const size_t point = std::min(digits.find('.'), digits.size());
  // Power of ten of the last digit that is not zero.
  const int64_t power =
      exponent + (last < point ? static_cast<int64_t>(point - last) - 1
                               : static_cast<int64_t>(point) - static_cast<int64_t>(last));
  if (power < 0 || power > 18) {
    return std::nullopt;
  }
  int64_t value = 0;
  const auto push = [&value, negative](int digit) {
    return !__builtin_mul_overflow(value, 10, &value) &&
           !__builtin_add_overflow(value, negative ? -digit : digit, &value);
  };
  for (const char c : digits.substr(0, last + 1)) {
    if (c != '.' && !push(c - '0')) {
      return std::nullopt;
    }
  }
  for (int64_t i = 0; i < power; ++i) {
    if (!push(0)) {
      return std::nullopt;
    }
  }
  return value;
}

void append_unescaped(std::string& out, std::string_view raw) {
  while (!raw.empty()) {
    const size_t slash = raw.find('\\');
    out.append(raw.substr(0, slash));
    if (slash == std::string_view::npos) {
      return;
    }
    raw.remove_prefix(slash);
    if (raw[1] != 'u') {
      out += kEscapeValues[kEscapeLetters.find(raw[1])];
      raw.remove_prefix(2);
      continue;
    }
    auto code = static_cast<uint32_t>(hex4(raw.data() + 2));
    size_t length = 6;
    if (code >= 0xd800 && code <= 0xdbff) {
      code = 0x10000 + ((code - 0xd800) << 10) +
             (static_cast<uint32_t>(hex4(raw.data() + 8)) - 0xdc00);
      length = 12;
    }
    append_utf8(out, code);
    raw.remove_prefix(length);
  }
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (size_t plain = plain_bytes(text); plain < text.size(); plain = plain_bytes(text)) {
    out.append(text.substr(0, plain));
    const char special = text[plain];
    text.remove_prefix(plain + 1);
    out += '\\';
    const size_t letter = kEscapeValues.find(special);
    if (letter != std::string_view::npos) {
      out += kEscapeLetters[letter];
    } else {
      const auto byte = static_cast<unsigned char>(special);
      out += "u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    }
  }
  out.append(text);
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace spillway::openrtb
