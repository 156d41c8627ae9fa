#include "bidder/day_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.h"
#include "bidder/model.h"

namespace spillway::bidder {

namespace {

constexpr size_t kDays = 7;
constexpr size_t kHours = 24;
constexpr std::array<std::string_view, kDays> kDayNames = {"mon", "tue", "wed", "thu",
                                                           "fri", "sat", "sun"};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Takes what stands before `separator`, or all that is left.
std::string_view next_part(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return trimmed(part);
}

std::optional<size_t> day(std::string_view name) {
  const auto* const found = std::ranges::find(kDayNames, name);
  return found == kDayNames.end() ? std::nullopt
                                  : std::optional(static_cast<size_t>(found - kDayNames.begin()));
}

std::optional<size_t> hour(std::string_view text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value <= kHours &&
                 text.size() <= 2
             ? std::optional(value)
             : std::nullopt;
}

using Problem = std::optional<std::string>;

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// One group: "mon-fri 8-12,13-22".
Problem add_group(std::string_view group, DayParts& out) {
  std::string_view hours = group;
  std::string_view days = next_part(hours, ' ');
  const std::string_view first_name = next_part(days, '-');
  const auto first = day(first_name);
  const auto last = days.empty() ? first : day(trimmed(days));
  if (!first || !last || *first > *last) {
    return in_quotes(group) + " starts with no day or range of days (mon to sun)";
  }
  if (trimmed(hours).empty()) {
    return in_quotes(group) + " names no hours";
  }
  while (!hours.empty()) {
    std::string_view range = next_part(hours, ',');
    const std::string_view whole = range;
    const auto from = hour(next_part(range, '-'));
    const auto to = hour(trimmed(range));
    if (!from || !to || *from >= *to) {
      return in_quotes(whole) + " is no range of hours (0 to 24)";
    }
    for (size_t of_day = *first; of_day <= *last; ++of_day) {
      for (size_t at = *from; at < *to; ++at) {
        out.set(of_day * kHours + at);
      }
    }
  }
  return std::nullopt;
}

std::string hours_of(const DayParts& hours, size_t of_day) {
  std::string out;
  for (size_t from = 0; from < kHours; ++from) {
    size_t to = from;
    while (to < kHours && hours.test(of_day * kHours + to)) {
      ++to;
    }
    if (to > from) {
      out.append(out.empty() ? "" : ",").append(std::to_string(from));
      out.append("-").append(std::to_string(to));
      from = to;
    }
  }
  return out;
}

}  // namespace

base::Result<DayParts, std::string> parse_day_parts(std::string_view text) {
  DayParts out;
  const std::string_view whole = trimmed(text);
  if (whole == "always") {
    return out.set();
  }
  if (whole == "never") {
    return out;
  }
  std::string_view rest = whole;
  do {
    if (auto problem = add_group(next_part(rest, ';'), out)) {
      return std::unexpected(std::move(*problem));
    }
  } while (!rest.empty());
  return out;
}

std::string to_string(const DayParts& hours) {
  if (hours.all() || hours.none()) {
    return hours.all() ? "always" : "never";
  }
  std::string out;
  for (size_t first = 0; first < kDays;) {
    const std::string of_first = hours_of(hours, first);
    size_t end = first + 1;
    while (end < kDays && hours_of(hours, end) == of_first) {
      ++end;
    }
    if (!of_first.empty()) {
      out.append(out.empty() ? "" : "; ").append(kDayNames.at(first));
      if (end - first > 1) {
        out.append("-").append(kDayNames.at(end - 1));
      }
      out.append(" ").append(of_first);
    }
    first = end;
  }
  return out;
}

}  // namespace spillway::bidder
