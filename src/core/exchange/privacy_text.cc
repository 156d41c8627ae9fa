#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/decimal.h"
#include "exchange/privacy_scrub.h"

namespace spillway::exchange {

namespace {

using Groups = std::array<uint16_t, 8>;

/// The four octets; nullopt when it is no dotted address.
std::optional<std::array<uint8_t, 4>> parse_ipv4(std::string_view text) {
  std::array<uint8_t, 4> octets{};
  size_t octet = 0;
  unsigned value = 0;
  size_t digits = 0;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0 || octet + 1 == octets.size()) {
        return std::nullopt;
      }
      octets.at(octet++) = static_cast<uint8_t>(value);
      value = 0;
      digits = 0;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > 3) {
      return std::nullopt;
    }
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > 255) {
      return std::nullopt;
    }
  }
  if (digits == 0 || octet + 1 != octets.size()) {
    return std::nullopt;
  }
  octets.at(octet) = static_cast<uint8_t>(value);
  return octets;
}

/// Whether an address that parsed is spelt as we would spell it: no octet begins with a needless
/// zero.
bool is_plain_ipv4(std::string_view text) {
  bool begins = true;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (begins && text[i] == '0' && text[i + 1] != '.') {
      return false;
    }
    begins = text[i] == '.';
  }
  return true;
}

/// Groups of one side of a "::"; false when it is no list of groups or does not fit.
bool parse_groups(std::string_view text, Groups& groups, size_t& count) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(':'), text.size());
    const std::string_view group = text.substr(0, end);
    if (end == text.size() && group.contains('.')) {
      const auto octets = parse_ipv4(group);
      if (!octets || count + 2 > groups.size()) {
        return false;
      }
      groups.at(count++) = static_cast<uint16_t>((*octets)[0] << 8U | (*octets)[1]);
      groups.at(count++) = static_cast<uint16_t>((*octets)[2] << 8U | (*octets)[3]);
      return true;
    }
    if (group.empty() || group.size() > 4 || count == groups.size()) {
      return false;
    }
    const auto [stop, error] =
        std::from_chars(group.data(), group.data() + group.size(), groups.at(count++), 16);
    if (error != std::errc{} || stop != group.data() + group.size() || end + 1 == text.size()) {
      return false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

std::optional<Groups> parse_ipv6(std::string_view text) {
  Groups head{};
  size_t head_count = 0;
  const size_t gap = text.find("::");
  const std::string_view before_gap = text.substr(0, gap);
  const bool dotted = gap != std::string_view::npos && before_gap.contains('.');
  if (dotted || !parse_groups(before_gap, head, head_count)) {
    return std::nullopt;
  }
  if (gap == std::string_view::npos) {
    return head_count == head.size() ? std::optional(head) : std::nullopt;
  }
  Groups tail{};
  size_t tail_count = 0;
  if (!parse_groups(text.substr(gap + 2), tail, tail_count) ||
      head_count + tail_count >= head.size()) {
    return std::nullopt;
  }
  std::copy_n(tail.begin(), tail_count, head.end() - static_cast<ptrdiff_t>(tail_count));
  return head;
}

void append_number(std::string& out, unsigned value, int base) {
  std::array<char, 12> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, base).ptr;
  out.append(digits.begin(), end);
}

std::string text_of_ipv4(unsigned first, unsigned second, unsigned third) {
  std::string out;
  for (const unsigned octet : {first, second, third}) {
    append_number(out, octet, 10);
    out += '.';
  }
  return out + '0';
}

}  // namespace

std::optional<std::string> truncated_ip(std::string_view text) {
  if (!text.contains(':')) {
    const auto octets = parse_ipv4(text);
    if (!octets) {
      return std::nullopt;
    }
    return is_plain_ipv4(text) ? std::string(text.substr(0, text.rfind('.') + 1)) + '0'
                               : text_of_ipv4((*octets)[0], (*octets)[1], (*octets)[2]);
  }
  const std::optional<Groups> groups = parse_ipv6(text);
  if (!groups) {
    return std::nullopt;
  }
  const bool low =
      std::all_of(groups->begin(), groups->begin() + 5, [](uint16_t group) { return group == 0; });
  if (low && (*groups)[5] == 0xffff) {
    return text_of_ipv4((*groups)[6] >> 8U, (*groups)[6] & 0xffU, (*groups)[7] >> 8U);
  }
  size_t kept = 3;
  while (kept > 0 && groups->at(kept - 1) == 0) {
    --kept;
  }
  std::string out;
  for (size_t i = 0; i < kept; ++i) {
    out += i == 0 ? "" : ":";
    append_number(out, groups->at(i), 16);
  }
  return out + "::";
}

std::optional<std::string> rounded_degrees(std::string_view number) {
  constexpr int64_t kUnit = 10'000;  // Hundredths in micros.
  const bool negative = number.starts_with('-');
  const auto micros =
      base::parse_micros(negative ? number.substr(1) : number, base::Rounding::kDown);
  if (!micros || *micros < 0 || *micros >= 1'000'000'000'000'000) {
    return std::nullopt;
  }
  // Digits beyond micros never make or break a half: it is whole micros.
  const int64_t rounded = (*micros + kUnit / 2) / kUnit * kUnit;
  std::string out;
  base::append_micros(out, negative ? -rounded : rounded);
  return out;
}

}  // namespace spillway::exchange
