#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/load/load_run.h"
#include "base/result.h"
#include "workload/gates.h"

namespace spillway::app {

/// Where a run's report goes beside the terminal, and what it must hold.
struct OutputOptions {
  std::string report;
  std::string html;
  std::string histogram;
  std::string gates;

  void add_to(CLI::App& app);
};

/// The figures gates may name, with a run's values. Without one request ended those are NaN.
inline constexpr std::array<std::string_view, 13> kGateFigures = {"p50_ms",
                                                                  "p90_ms",
                                                                  "p95_ms",
                                                                  "p99_ms",
                                                                  "p999_ms",
                                                                  "max_ms",
                                                                  "error_ratio",
                                                                  "bid_ratio",
                                                                  "missed_ratio",
                                                                  "achieved_ratio",
                                                                  "rate_achieved_per_s",
                                                                  "over_tmax",
                                                                  "starved_ratio"};
[[nodiscard]] std::vector<workload::Figure> figures_of(const RunSummary& run);

/// Reads the gates' file; none without one. The error has a line "file:line: what" for each
/// problem.
[[nodiscard]] base::Result<std::vector<workload::Gate>, std::string> gates_of(
    const OutputOptions& options);

/// Writes the files asked for; "" or which could not be written.
[[nodiscard]] std::string write_outputs(const OutputOptions& options, const RunSummary& run,
                                        const std::string& title,
                                        const std::vector<workload::GateResult>& gates);

/// A line a gate: what was measured, and whether it holds.
[[nodiscard]] std::string gates_text(const std::vector<workload::GateResult>& gates);

}  // namespace spillway::app
