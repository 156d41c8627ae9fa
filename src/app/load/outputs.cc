#include "app/load/outputs.h"

#include <cmath>
#include <cstddef>
#include <expected>
#include <fstream>
#include <ios>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/config/config_file.h"
#include "app/load/load_run.h"
#include "app/load/report.h"
#include "app/load/report_html.h"
#include "base/result.h"
#include "base/time.h"
#include "workload/gates.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

constexpr size_t kGatesBytesMax = size_t{1} << 20;

std::string write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? "" : fmt::format("{}: cannot be written", path);
}

}  // namespace

void OutputOptions::add_to(CLI::App& app) {
  app.add_option("--report", report, "Write the whole report as JSON, second by second");
  app.add_option("--html", html, "Write one self-contained page with plots");
  app.add_option("--histogram", histogram, "Write the latency histogram: low_ns,high_ns,count");
  app.add_option("--gates", gates, "File of lines such as \"p99_ms < 25\" that must hold");
}

std::vector<workload::Figure> figures_of(const RunSummary& run) {
  const workload::Tally& tally = run.tally;
  const bool any = tally.ended() > 0;
  const auto measured = [any](double value) { return any ? value : std::nan(""); };
  const auto quantile = [&](double ratio) {
    return measured(base::to_ms(tally.latency().quantile(ratio)));
  };
  const auto intervals = static_cast<double>(run.series.intervals().size());
  return {{"p50_ms", quantile(0.5)},
          {"p90_ms", quantile(0.9)},
          {"p95_ms", quantile(0.95)},
          {"p99_ms", quantile(0.99)},
          {"p999_ms", quantile(0.999)},
          {"max_ms", quantile(1)},
          {"error_ratio", measured(tally.error_ratio())},
          {"bid_ratio", measured(tally.bid_ratio())},
          {"missed_ratio", tally.missed_ratio()},
          {"achieved_ratio", run.achieved_ratio()},
          {"rate_achieved_per_s", run.rate_achieved()},
          {"over_tmax", static_cast<double>(tally.over_tmax())},
          {"starved_ratio", static_cast<double>(run.series.starved_count()) / intervals}};
}

base::Result<std::vector<workload::Gate>, std::string> gates_of(const OutputOptions& options) {
  if (options.gates.empty()) {
    return {};
  }
  const auto text = read_whole_file(options.gates, kGatesBytesMax);
  if (!text) {
    return std::unexpected("--gates: " + text.error());
  }
  auto gates = workload::parse_gates(*text, kGateFigures);
  if (gates) {
    return std::move(*gates);
  }
  std::string problems;
  for (const auto& problem : gates.error()) {
    problems += fmt::format("{}{}:{}: {}", problems.empty() ? "" : "\n", options.gates,
                            problem.line, problem.what);
  }
  return std::unexpected(problems);
}

std::string write_outputs(const OutputOptions& options, const RunSummary& run,
                          const std::string& title,
                          const std::vector<workload::GateResult>& gates) {
  std::string problem;
  if (!options.report.empty()) {
    problem = write_file(options.report, report_json_full(run));
  }
  if (problem.empty() && !options.html.empty()) {
    problem = write_file(options.html, report_html(run, title, gates));
  }
  if (problem.empty() && !options.histogram.empty()) {
    problem = write_file(options.histogram, run.tally.latency().dump());
  }
  return problem;
}

std::string gates_text(const std::vector<workload::GateResult>& gates) {
  std::string out;
  for (const auto& result : gates) {
    out += fmt::format("gate {}  {} (measured {:.6g})\n", result.passed ? "passed  " : "FAILED  ",
                       result.gate.text, result.value);
  }
  return out;
}

}  // namespace spillway::app
