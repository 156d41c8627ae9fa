#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/scenario/record.h"
#include "app/scenario/scenario.h"

namespace spillway::app {

/// One expectation and what was measured of it.
struct Finding {
  Expectation expect;
  double measured = 0;  ///< NaN: could not be. Infinity: never happened.
  bool met = false;
};

/// Judges every expectation, and that arrivals found a connection even when the file does not ask.
[[nodiscard]] std::vector<Finding> judge(const Scenario& scenario, const Record& record);

[[nodiscard]] bool all_met(const std::vector<Finding>& findings);

/// "1.9", "never", "not measured"
[[nodiscard]] std::string measured_text(double measured);

/// The table of a run, for people. Where something was not met, what circuits and alerts did.
[[nodiscard]] std::string findings_text(std::string_view name, const Scenario& scenario,
                                        const Record& record, const std::vector<Finding>& findings);

/// The same as one line of JSON, always with the first changes. `why` is not empty when the run did
/// not get that far.
[[nodiscard]] std::string findings_json(std::string_view name, bool shortened, const Record& record,
                                        const std::vector<Finding>& findings, std::string_view why);

}  // namespace spillway::app
