#pragma once

#include <string>
#include <vector>

#include "app/scenario/record.h"
#include "app/scenario/scenario.h"

namespace spillway::app {

/// What became of one fault under one option.
struct FaultFigures {
  std::string step;
  std::string dsp;
  double opened_s = 0;  ///< After the fault; infinity: never.
  double closed_s = 0;  ///< After its end; infinity: never. NaN: it never opened.
};

/// What one option made of the day, beside the same day without faults.
struct OptionFigures {
  std::string name;
  std::string missing{};   ///< Not empty: not run, and why.
  double revenue_cpm = 0;  ///< An auction.
  double revenue_kept_ratio = 0;
  double added_p50_ms = 0, added_p99_ms = 0;
  double detection_s = 0;     ///< Median over the faults that opened a circuit; NaN: none did.
  double undetected = 0;      ///< Faults that opened none.
  double recovery_s = 0;      ///< Worst.
  double false_opens = 0;     ///< Circuits opened of DSPs that had no fault then.
  double timeouts_ratio = 0;  ///< Of all calls.
  std::vector<FaultFigures> faults{};
};

/// Figures of one option's run; `calm` is the run without faults.
[[nodiscard]] OptionFigures figures_of(const Scenario& scenario, const ScenarioOption& option,
                                       const Record& record, const Record& calm);

[[nodiscard]] std::string comparison_text(const std::vector<OptionFigures>& all);
[[nodiscard]] std::string comparison_json(const std::vector<OptionFigures>& all);

}  // namespace spillway::app
