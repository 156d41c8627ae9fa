#pragma once

// What `spillway load --json` reported.
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace spillway::e2e {

/// The first number of this name in a report; -1 when it is not there.
inline long number(const std::string& report, std::string_view name) {
  const auto at = report.find(fmt::format("\"{}\":", name));
  return at == std::string::npos ? -1 : std::atol(report.c_str() + at + name.size() + 3);
}

/// Requests that got an answer, whichever.
inline long answered_of(const std::string& report) {
  return number(report, "ended") - number(report, "none");
}

/// Requests that ended in this way; 0 when none did.
inline long ended_by(const std::string& report, std::string_view ending) {
  const auto at = report.find(fmt::format("\"{}\":{{\"count\":", ending));
  return at == std::string::npos ? 0 : number(report.substr(at), "count");
}

}  // namespace spillway::e2e
