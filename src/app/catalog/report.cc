#include "app/catalog/report.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "app/catalog/problems.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "openrtb/document.h"

namespace spillway::app::catalog {

namespace {

std::string literal(std::string_view text) {
  std::string out;
  openrtb::append_json_string(out, text);
  return out;
}

}  // namespace

namespace {

/// As a terminal may be shown it: a file's control bytes as \xNN, and no more than a few lines.
std::string shown(std::string_view text) {
  constexpr size_t kMostBytes = 500;
  std::string out;
  for (const char c : text.substr(0, kMostBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return text.size() > kMostBytes ? out + "…" : out;
}

}  // namespace

std::string report_text(const Report& report) {
  constexpr size_t kListed = 100;
  std::string out;
  size_t listed = 0;
  for (const std::string& text : report.unreadable.kept()) {
    if (listed++ < kListed) {
      out += shown(text) + "\n";
    }
  }
  for (const bidder::Problem& problem : report.problems) {
    if (listed++ < kListed) {
      const auto value = problem.value.empty() ? "" : " (" + problem.value + ")";
      out += shown(fmt::format("{} {}: {}: {}{}", to_string(problem.kind), problem.id,
                               problem.field, problem.message, value)) +
             "\n";
    }
  }
  const size_t count = report.unreadable.count() + report.problems.size();
  if (count > kListed) {
    out += fmt::format("… and {} more\n", count - std::min(listed, kListed));
  }
  const bidder::CatalogRows& rows = *report.rows;
  return out +
         fmt::format("{}: {} advertisers, {} campaigns, {} line items, {} creatives, {} problems\n",
                     report.place, rows.advertisers.size(), rows.campaigns.size(),
                     rows.line_items.size(), rows.creatives.size(), count);
}

std::string report_json(const Report& report) {
  const bidder::CatalogRows& rows = *report.rows;
  std::string out = fmt::format(
      R"({{"place":{},"rows":{{"advertisers":{},"campaigns":{},"line_items":{},"creatives":{}}},)",
      literal(report.place), rows.advertisers.size(), rows.campaigns.size(), rows.line_items.size(),
      rows.creatives.size());
  out += R"("unreadable":[)";
  for (const char* separator = ""; const std::string& text : report.unreadable.kept()) {
    out += separator + literal(text);
    separator = ",";
  }
  out += R"(],"problems":[)";
  const size_t shown = std::min(report.problems.size(), FileProblems::kMost);
  for (size_t i = 0; i < shown; ++i) {
    const bidder::Problem& problem = report.problems[i];
    out += fmt::format(R"({}{{"kind":{},"id":{},"field":{},"message":{},"value":{}}})",
                       i == 0 ? "" : ",", literal(to_string(problem.kind)), problem.id,
                       literal(problem.field), literal(problem.message), literal(problem.value));
  }
  return out + fmt::format("],\"problem_count\":{}}}\n",
                           report.unreadable.count() + report.problems.size());
}

}  // namespace spillway::app::catalog
