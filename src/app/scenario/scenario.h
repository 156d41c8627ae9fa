#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config/reader.h"
#include "base/time.h"

namespace spillway::app {

/// Names of a scenario and what stands for them: `$name` in any text of the file.
using ScenarioVars = std::map<std::string, std::string>;

/// The callers of a scenario.
struct ScenarioLoad {
  double rate = 200;  ///< Requests a second; with `times_capacity` what capacity is measured at.
  double times_capacity = 0;  ///< Not 0: this times the capacity found at the quota.
  base::Duration capacity_hold = std::chrono::seconds(10);  ///< How long capacity must hold.
  base::Duration duration = std::chrono::seconds(30);
  uint32_t connections = 512;
  base::Duration timeout = std::chrono::seconds(1);
  bool poisson = false;
  double late_ratio = 0.01;  ///< More of the requests sent late: the machine cannot judge the run.
};

/// Something that is done at a time of the load, or a mark alone. Whatever it is, all counters are
/// read before it is done.
struct ScenarioStep {
  enum class Kind : uint8_t { kMark, kFault, kClear, kSignal, kReload };
  std::string name{};
  base::Duration at{};
  Kind kind = Kind::kMark;
  std::string dsp{};    ///< kFault, kClear: a DSP, or `*`.
  std::string fault{};  ///< kFault: body of the farm's fault call.
  int signal = 0;       ///< kSignal: to the exchange.
  std::vector<std::pair<std::string, std::string>> vars{};  ///< kReload: changed before it.
};

/// A measured value between two steps and what it has to be.
struct Expectation {
  std::string value;     ///< A name of scenario_values().
  std::string dsp{};     ///< Of one DSP; empty: of all together.
  std::string except{};  ///< Of all but this DSP.
  std::string of{};      ///< An outcome, a host, …: what `value` says.
  std::string from = "start";
  std::string to = "end";
  std::optional<double> min{}, max{};

  /// "opened_s alpha, sick to end"
  [[nodiscard]] std::string subject() const;
  /// "<= 5", "0.9 to 1.1"
  [[nodiscard]] std::string wanted() const;
  [[nodiscard]] bool met_by(double measured) const;
};

/// One way of setting the exchange up, in a comparison.
struct ScenarioOption {
  std::string name{};
  std::string missing{};  ///< Not empty: why it cannot be run yet.
  bool faults = true;     ///< False: the same load on a day without faults.
  ScenarioVars vars{};
};

/// One file of scenarios/, read: docs/scenarios.md has every key.
struct Scenario {
  std::string about;
  ScenarioVars vars{};
  std::string farm;      ///< YAML of `spillway dsp`.
  std::string exchange;  ///< YAML of `spillway exchange`, names not replaced yet.
  std::vector<std::string> dsps;
  std::map<std::string, double> prices;  ///< Highest price of each DSP, CPM.
  double quota_cores = 0;                ///< CPU of the exchange; 0: no quota.
  ScenarioLoad load;
  std::vector<ScenarioStep> steps;  ///< By time.
  std::vector<Expectation> expect;
  std::vector<ScenarioOption> options;

  /// The exchange's text with every name replaced; `addresses` by DSP's name.
  [[nodiscard]] std::string exchange_text(const ScenarioVars& changed,
                                          const ScenarioVars& addresses) const;
};

/// `text` with each `$name` of `vars` replaced. Names that are not there stay, and are added to
/// `unknown` with their line when it is not null.
[[nodiscard]] std::string with_vars(std::string_view text, const ScenarioVars& vars,
                                    std::vector<std::pair<std::string, int>>* unknown = nullptr);

/// Reads a scenario; `shortened` takes the values of `short` in place of those of `vars`, and
/// `overrides` stand above both. Everything wrong is appended to `problems`, farm and exchange
/// included, each with its line in this file; the result may be used only when there is nothing.
[[nodiscard]] Scenario read_scenario(std::string_view text, bool shortened,
                                     const ScenarioVars& overrides,
                                     std::vector<ConfigProblem>& problems);

}  // namespace spillway::app
