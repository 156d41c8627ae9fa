#include "app/config/units.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/decimal.h"
#include "base/money.h"
#include "base/time.h"

namespace spillway::app {
namespace {

struct Unit {
  std::string_view name;
  int64_t count;
};

// Largest first, for writing; reading takes the letters behind the digits.
constexpr std::array<Unit, 6> kDurations{{{"h", 3'600'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"s", 1'000'000'000},
                                          {"ms", 1'000'000},
                                          {"us", 1'000},
                                          {"ns", 1}}};
constexpr std::array<Unit, 4> kSizes{
    {{"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", int64_t{1} << 10}, {"B", 1}}};

constexpr int64_t kMicrosInOne = 1'000'000;
constexpr int64_t kMostHours = 1'000'000;

std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  return digits == std::string_view::npos ? std::pair{text, std::string_view{}}
                                          : std::pair{text.substr(0, digits), text.substr(digits)};
}

}  // namespace

std::optional<base::Duration> parse_duration(std::string_view text) {
  const auto [digits, name] = split_unit(text);
  const auto micros = base::parse_micros(digits, base::Rounding::kDown);
  if (!micros) {
    return std::nullopt;
  }
  for (const Unit& unit : kDurations) {
    if (unit.name != name) {
      continue;
    }
    const int64_t whole = *micros / kMicrosInOne;
    if (whole < 0 || whole >= kMostHours * kDurations[0].count / unit.count) {
      return std::nullopt;
    }
    const int64_t part = *micros % kMicrosInOne * unit.count / kMicrosInOne;
    return base::Duration(whole * unit.count + part);
  }
  return std::nullopt;
}

std::string duration_text(base::Duration duration) {
  if (duration == base::Duration::max()) {
    return "never";
  }
  for (const Unit& unit : kDurations) {
    if (duration.count() != 0 && duration.count() % unit.count == 0) {
      return fmt::format("{}{}", duration.count() / unit.count, unit.name);
    }
  }
  return "0s";
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  const auto [digits, name] = split_unit(text);
  uint64_t count = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || rest != digits.data() + digits.size() || count >> 32 != 0) {
    return std::nullopt;
  }
  for (const Unit& unit : kSizes) {
    if (unit.name == name) {
      return count * static_cast<uint64_t>(unit.count);
    }
  }
  return std::nullopt;
}

std::string bytes_text(uint64_t bytes) {
  for (const Unit& unit : kSizes) {
    const auto size = static_cast<uint64_t>(unit.count);
    if (bytes != 0 && bytes % size == 0) {
      return fmt::format("{}{}", bytes / size, unit.name);
    }
  }
  return "0B";
}

std::optional<base::Cpm> parse_cpm(std::string_view text) {
  const auto micros = base::parse_micros(text, base::Rounding::kDown);
  if (!micros || *micros < 0) {
    return std::nullopt;
  }
  return base::Cpm{*micros};
}

}  // namespace spillway::app
