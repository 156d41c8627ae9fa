#include "adapters/catalog_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "adapters/catalog_tables.h"
#include "base/money.h"
#include "bidder/day_parts.h"
#include "bidder/model.h"

namespace spillway::adapters::cells {

namespace {

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value).ptr;
  return {std::begin(buffer), end};
}

/// The parts of a comma-separated text, without the blanks around them.
template <typename Visit>
void for_each_part(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = text.find(',');
    std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const size_t first = part.find_first_not_of(' ');
    part = first == std::string_view::npos
               ? std::string_view{}
               : part.substr(first, part.find_last_not_of(' ') - first + 1);
    visit(part);
  }
}

}  // namespace

std::string text_of(const Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    return std::to_string(*whole);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    return number_text(*number);
  }
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

std::optional<int64_t> whole_number(const Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    return *whole;
  }
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::nullopt : parsed<int64_t>(*text);
}

std::string read(const Cell& cell, bool& value) {
  const std::string text = text_of(cell);
  if (text != "0" && text != "1" && text != "false" && text != "true") {
    return in_quotes(text) + " is neither 0 nor 1";
  }
  value = text == "1" || text == "true";
  return {};
}

std::string read(const Cell& cell, double& value) {
  std::optional<double> number;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    number = parsed<double>(*text);
  } else if (const auto* whole = std::get_if<int64_t>(&cell)) {
    number = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    number = *real;
  }
  if (!number || !std::isfinite(*number)) {
    return in_quotes(text_of(cell)) + " is no number";
  }
  value = *number;
  return {};
}

std::string read(const Cell& cell, std::string& value) {
  value = text_of(cell);
  return {};
}

std::string read(const Cell& cell, base::Currency& value) {
  const std::string text = text_of(cell);
  const auto upper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  if (text.size() != value.code.size() || !std::ranges::all_of(text, upper)) {
    return in_quotes(text) + " is no currency: three capital letters";
  }
  std::ranges::copy(text, value.code.begin());
  return {};
}

std::string read(const Cell& cell, Side& value) {
  const std::string text = text_of(cell);
  if (text != "include" && text != "exclude") {
    return in_quotes(text) + " is neither include nor exclude";
  }
  value = text == "include" ? Side::kInclude : Side::kExclude;
  return {};
}

std::string read(const Cell& cell, std::optional<bidder::DayParts>& value) {
  auto hours = bidder::parse_day_parts(text_of(cell));
  if (!hours) {
    return std::move(hours.error());
  }
  value = *hours;
  return {};
}

Cell write(const std::vector<std::string>& value) {
  std::string out;
  for (const std::string& part : value) {
    out.append(out.empty() ? "" : ",").append(part);
  }
  return out;
}

std::string read(const Cell& cell, std::vector<std::string>& value) {
  value.clear();
  bool empty_part = false;
  for_each_part(text_of(cell), [&](std::string_view part) {
    value.emplace_back(part);
    empty_part = empty_part || part.empty();
  });
  return empty_part ? "a part of the list is empty" : "";
}

Cell write(const std::vector<uint16_t>& value) {
  std::string out;
  for (const uint16_t part : value) {
    out.append(out.empty() ? "" : ",").append(std::to_string(part));
  }
  return out;
}

std::string read(const Cell& cell, std::vector<uint16_t>& value) {
  value.clear();
  std::string problem;
  for_each_part(text_of(cell), [&](std::string_view part) {
    const auto number = parsed<uint16_t>(part);
    if (!number) {
      problem = in_quotes(part) + " is no whole number from 0 to 65535";
    }
    value.push_back(number.value_or(0));
  });
  return problem;
}

}  // namespace spillway::adapters::cells
