#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/catalog_tables.h"
#include "base/money.h"
#include "bidder/day_parts.h"
#include "bidder/model.h"
#include "bidder/model_text.h"

namespace spillway::adapters::cells {

/// How each type of the model is written as a cell and read from one. write(value) gives the cell;
/// read(cell, value) the problem, or "". For the tables of this room alone.

[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 60;
  return "\"" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "…\"" : "\"");
}

/// A cell as people would write it.
[[nodiscard]] std::string text_of(const Cell& cell);

template <std::integral Number>
Cell write(const Number& value) {
  return static_cast<int64_t>(value);
}

/// The whole number in a cell; nullopt when there is none or it does not fit.
[[nodiscard]] std::optional<int64_t> whole_number(const Cell& cell);

template <std::integral Number>
std::string read(const Cell& cell, Number& value) {
  const auto number = whole_number(cell);
  if (!number || !std::in_range<Number>(*number)) {
    return in_quotes(text_of(cell)) + " is no whole number from " +
           std::to_string(std::numeric_limits<Number>::min()) + " to " +
           std::to_string(std::numeric_limits<Number>::max());
  }
  value = static_cast<Number>(*number);
  return {};
}

inline Cell write(const bool& value) { return static_cast<int64_t>(value ? 1 : 0); }

std::string read(const Cell& cell, bool& value);

inline Cell write(const double& value) { return value; }

std::string read(const Cell& cell, double& value);

inline Cell write(const std::string& value) { return value; }

std::string read(const Cell& cell, std::string& value);

inline Cell write(const base::Cpm& value) { return value.micros; }

inline std::string read(const Cell& cell, base::Cpm& value) { return read(cell, value.micros); }

inline Cell write(const base::Currency& value) { return std::string(value.view()); }

std::string read(const Cell& cell, base::Currency& value);

inline Cell write(const Side& value) {
  return std::string(value == Side::kInclude ? "include" : "exclude");
}

std::string read(const Cell& cell, Side& value);

template <typename Enum>
  requires std::is_enum_v<Enum>
Cell write(const Enum& value) {
  return std::string(bidder::name_of(value));
}

template <typename Enum>
  requires std::is_enum_v<Enum>
std::string read(const Cell& cell, Enum& value) {
  const std::string text = text_of(cell);
  const auto named = bidder::parse_name<Enum>(text);
  if (!named) {
    return in_quotes(text) + " is none of " + bidder::names_of<Enum>();
  }
  value = *named;
  return {};
}

inline Cell write(const std::optional<int64_t>& value) {
  return value ? Cell(*value) : Cell(std::monostate{});
}

inline std::string read(const Cell& cell, std::optional<int64_t>& value) {
  return read(cell, value.emplace());
}

inline Cell write(const std::optional<bidder::DayParts>& value) {
  return value ? Cell(bidder::to_string(*value)) : Cell(std::monostate{});
}

std::string read(const Cell& cell, std::optional<bidder::DayParts>& value);

Cell write(const std::vector<std::string>& value);
std::string read(const Cell& cell, std::vector<std::string>& value);

Cell write(const std::vector<uint16_t>& value);
std::string read(const Cell& cell, std::vector<uint16_t>& value);

}  // namespace spillway::adapters::cells
