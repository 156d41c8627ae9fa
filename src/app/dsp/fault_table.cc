#include "app/dsp/fault_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

namespace {

constexpr std::string_view kBegin = "<!-- fault table -->";
constexpr std::string_view kEnd = "<!-- end of fault table -->";
constexpr std::array<std::string_view, 5> kReactions = {"opens", "opens late", "alerts only",
                                                        "throttled", "nothing"};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" `");
  const size_t end = text.find_last_not_of(" `");
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (line.starts_with('|') && line.size() > 1) {
    const size_t end = line.find('|', 1);
    if (end == std::string_view::npos) {
      break;
    }
    cells.emplace_back(trimmed(line.substr(1, end - 1)));
    line = line.substr(end);
  }
  return cells;
}

}  // namespace

std::vector<FaultRow> parse_fault_table(std::string_view markdown) {
  const size_t begin = markdown.find(kBegin);
  const size_t end = markdown.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return {};
  }
  std::string_view rest = markdown.substr(begin + kBegin.size(), end - begin - kBegin.size());
  std::vector<FaultRow> rows;
  int line_number = 0;
  while (!rest.empty()) {
    const size_t line_end = rest.find('\n');
    const std::string_view line = rest.substr(0, line_end);
    rest = line_end == std::string_view::npos ? "" : rest.substr(line_end + 1);
    if (line.empty() || ++line_number <= 2) {
      continue;  // title and rule of the table
    }
    const auto cells = cells_of(line);
    const auto reaction =
        cells.size() == 4 ? std::ranges::find(kReactions, cells[2]) : kReactions.end();
    if (reaction == kReactions.end()) {
      return {};
    }
    rows.push_back({.name = cells[0],
                    .call = cells[1],
                    .reaction = static_cast<FaultReaction>(reaction - kReactions.begin()),
                    .outcome = cells[3]});
  }
  return rows;
}

}  // namespace spillway::app
