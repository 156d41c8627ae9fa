#pragma once

#include <string_view>
#include <vector>

#include "app/scenario/record.h"
#include "app/scenario/scenario.h"

namespace spillway::app {

/// A value that a scenario may expect something of. docs/scenarios.md lists all; a test compares.
struct ScenarioValue {
  std::string_view name;
  std::string_view meaning;
  bool of_dsp = false;       ///< `dsp` or `except` may be there.
  std::string_view of = {};  ///< What `of` says; empty: no `of`.
  bool needs_quota = false;  ///< Known only when capacity was measured.
  /// NaN: could not be measured. Infinity: never happened.
  double (*measure)(const Record& record, const Expectation& expect) = nullptr;
};

/// Null when there is none of that name.
[[nodiscard]] const ScenarioValue* scenario_value(std::string_view name);

[[nodiscard]] std::vector<std::string_view> scenario_value_names();
[[nodiscard]] const std::vector<ScenarioValue>& scenario_values();

/// What `expect` speaks of, as the run had it.
[[nodiscard]] double measure(const Record& record, const Expectation& expect);

}  // namespace spillway::app
