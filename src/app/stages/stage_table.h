#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

/// One stage between two scrapes.
struct StageRow {
  std::string stage;
  uint64_t calls = 0;
  double mean_us = 0;      ///< Sum over count; 0 without calls.
  double share_ratio = 0;  ///< Of the time that all stages took together.
};

/// Every histogram named *_stage_seconds on both pages, in the order of the second: what was added
/// between them. A counter that went back (a restart) counts from zero. Empty when the pages have
/// none.
[[nodiscard]] std::vector<StageRow> stages_between(std::string_view before, std::string_view after);

/// A table for people, or one JSON array.
[[nodiscard]] std::string table_text(const std::vector<StageRow>& rows);
[[nodiscard]] std::string table_json(const std::vector<StageRow>& rows);

}  // namespace spillway::app
