#include "app/trace/tracer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "base/time.h"

namespace spillway::app {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kMaxMs = 9'000'000'000'000;
constexpr size_t kPlaces = 6;

}  // namespace

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> fields;
  size_t at = line.find_first_not_of(kBlank);
  while (at != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return fields;
}

base::Result<base::Duration, std::string> parse_trace_ms(std::string_view name,
                                                         std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  const auto whole = parse_trace_integer<int64_t>(name, text.substr(0, dot), 0, kMaxMs);
  const auto decimals = dot < text.size() ? text.substr(dot + 1) : std::string_view("0");
  const bool digits = !decimals.empty() && decimals.size() <= kPlaces &&
                      decimals.find_first_not_of("0123456789") == std::string_view::npos;
  if (!whole || !digits) {
    return std::unexpected(fmt::format(
        "{} must be milliseconds from 0 to 9e12 with at most six decimals, is \"{}\"", name, text));
  }
  int64_t part = 0;
  for (size_t i = 0; i < kPlaces; ++i) {
    part = part * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
  }
  return base::Duration(*whole * kNsPerMs + part);
}

}  // namespace spillway::app
