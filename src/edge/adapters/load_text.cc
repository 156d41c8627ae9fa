#include "adapters/load_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spillway::adapters {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

bool take(std::string_view& text, char wanted) {
  skip_blanks(text);
  if (!text.starts_with(wanted)) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

/// What stands between quotes, escapes as they are but `\"`, `\\` and `\n`.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (!take(text, '"')) {
    return std::nullopt;
  }
  std::string out;
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\') {
      text.remove_prefix(1);
      if (text.empty()) {
        return std::nullopt;
      }
      out += text.front() == 'n' ? '\n' : text.front();
    } else {
      out += text.front();
    }
    text.remove_prefix(1);
  }
  return take(text, '"') ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<double> take_number(std::string_view& text) {
  skip_blanks(text);
  double value = 0;
  const char* const first = text.data();
  const auto [rest, error] = std::from_chars(first, first + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(rest - first));
  return value;
}

std::string_view take_name(std::string_view& text) {
  const auto name = text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                          "0123456789_:"));
  text.remove_prefix(name.size());
  return name;
}

double* member_of(LoadCounts& counts, std::string_view name) {
  const std::array<std::pair<std::string_view, double*>, 6> members{
      {{"requests", &counts.requests},
       {"successes", &counts.successes},
       {"failures", &counts.failures},
       {"in_flight", &counts.in_flight},
       {"limit", &counts.limit},
       {"p95_ms", &counts.p95_ms}}};
  const auto* const found =
      std::ranges::find(members, name, &std::pair<std::string_view, double*>::first);
  return found == members.end() ? nullptr : found->second;
}

/// A string, number or word that is not wanted.
bool skip_value(std::string_view& text) {
  skip_blanks(text);
  if (text.starts_with('"')) {
    return take_quoted(text).has_value();
  }
  const auto size = std::min(text.find_first_of(",}{[ \t\r\n"), text.size());
  const bool flat = size > 0 && (size == text.size() || (text[size] != '{' && text[size] != '['));
  text.remove_prefix(size);
  return flat;
}

struct Series {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels;
  double value = 0;
};

/// False for what is no series: comments, empty lines, broken ones.
bool read_series(std::string_view line, Series& out) {
  out.labels.clear();
  out.name = take_name(line);
  if (out.name.empty()) {
    return false;
  }
  if (take(line, '{')) {
    while (!take(line, '}')) {
      skip_blanks(line);
      const auto label = take_name(line);
      if (label.empty() || !take(line, '=')) {
        return false;
      }
      auto value = take_quoted(line);
      if (!value) {
        return false;
      }
      out.labels.emplace_back(label, std::move(*value));
      (void)take(line, ',');
    }
  }
  const auto value = take_number(line);
  out.value = value.value_or(0);
  return value.has_value();
}

bool fits(const Series& series, const SeriesSelector& selector) {
  return series.name == selector.name &&
         std::ranges::all_of(selector.conditions, [&](const SeriesSelector::Condition& wanted) {
           const auto found = std::ranges::find(series.labels, wanted.label,
                                                &std::pair<std::string_view, std::string>::first);
           const bool same = found != series.labels.end() && found->second == wanted.value;
           return same == wanted.equal;
         });
}

}  // namespace

std::string_view to_string(LoadErrc error) {
  constexpr std::array<std::string_view, kLoadErrors> kNames{"unreachable", "timeout", "status",
                                                             "malformed", "missing"};
  return kNames.at(static_cast<size_t>(error));
}

base::Result<LoadCounts, LoadErrc> parse_load(std::string_view body) {
  const auto malformed = std::unexpected(LoadErrc::kMalformed);
  if (!take(body, '{')) {
    return malformed;
  }
  LoadCounts counts;
  bool has_successes = false;
  bool has_requests = false;
  while (!take(body, '}')) {
    const auto name = take_quoted(body);
    if (!name || !take(body, ':')) {
      return malformed;
    }
    if (double* const member = member_of(counts, *name)) {
      const auto value = take_number(body);
      if (!value || *value < 0) {
        return malformed;
      }
      *member = *value;
      has_successes = has_successes || *name == "successes";
      has_requests = has_requests || *name == "requests";
    } else if (!skip_value(body)) {
      return malformed;
    }
    skip_blanks(body);
    if (!take(body, ',') && !body.starts_with('}')) {
      return malformed;
    }
  }
  if (!has_successes) {
    return std::unexpected(LoadErrc::kMissing);
  }
  if (!has_requests) {
    counts.requests = counts.successes + counts.failures;
  }
  return counts;
}

std::optional<SeriesSelector> SeriesSelector::parse(std::string_view text) {
  SeriesSelector out;
  skip_blanks(text);
  out.name = take_name(text);
  if (out.name.empty()) {
    return std::nullopt;
  }
  if (take(text, '{')) {
    while (!take(text, '}')) {
      Condition condition;
      skip_blanks(text);
      condition.label = take_name(text);
      condition.equal = !take(text, '!');
      if (condition.label.empty() || !take(text, '=')) {
        return std::nullopt;
      }
      auto value = take_quoted(text);
      if (!value) {
        return std::nullopt;
      }
      condition.value = std::move(*value);
      out.conditions.push_back(std::move(condition));
      (void)take(text, ',');
    }
  }
  skip_blanks(text);
  return text.empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<double> sum_of(std::string_view page, const std::vector<SeriesSelector>& selectors) {
  std::optional<double> sum;
  Series series;
  while (!page.empty()) {
    const auto line = page.substr(0, page.find('\n'));
    page.remove_prefix(line.size() < page.size() ? line.size() + 1 : line.size());
    const bool begins_like_one = std::ranges::any_of(
        selectors, [&](const auto& selector) { return line.starts_with(selector.name); });
    if (begins_like_one && read_series(line, series) &&
        std::ranges::any_of(selectors,
                            [&](const auto& selector) { return fits(series, selector); })) {
      sum = sum.value_or(0) + series.value;
    }
  }
  return sum;
}

base::Result<LoadCounts, LoadErrc> parse_page(std::string_view page,
                                              const PageSelectors& selectors) {
  const auto successes = sum_of(page, selectors.successes);
  if (!successes) {
    return std::unexpected(LoadErrc::kMissing);
  }
  LoadCounts counts;
  counts.successes = *successes;
  counts.failures = sum_of(page, selectors.failures).value_or(0);
  counts.requests = counts.successes + counts.failures;
  const auto read = [&](const std::vector<SeriesSelector>& wanted, double& out) {
    const auto sum = sum_of(page, wanted);
    out = sum.value_or(out);
    return wanted.empty() || sum.has_value();
  };
  const bool all = read(selectors.requests, counts.requests) &&
                   read(selectors.in_flight, counts.in_flight) &&
                   read(selectors.limit, counts.limit);
  if (!all) {
    return std::unexpected(LoadErrc::kMissing);
  }
  return counts;
}

}  // namespace spillway::adapters
