#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/load/commands.h"
#include "app/load/run_file.h"
#include "base/result.h"
#include "workload/comparison.h"

namespace spillway::app {

namespace {

using workload::Difference;
using workload::Verdict;

constexpr const char* kExamples = R"(Examples:
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --duration 60s --report before.json
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --duration 60s --report after.json
  spillway load compare before.json after.json
Seconds are drawn anew from both runs (a block bootstrap, seeded). The exit status is 1 when the
second run is worse in a figure by more than chance explains at --confidence.)";

constexpr size_t kReportBytesMax = size_t{256} << 20;

base::Result<std::vector<workload::RunBlock>, std::string> read_run(const std::string& path) {
  const auto text = read_whole_file(path, kReportBytesMax);
  if (!text) {
    return std::unexpected(text.error());
  }
  auto run = parse_run(*text);
  if (!run) {
    return std::unexpected(fmt::format("{}: {}", path, run.error()));
  }
  return std::move(*run);
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
  }
  return "";
}

void print_text(const std::vector<Difference>& differences, double confidence) {
  fmt::print("{:<15}{:>12}{:>12}{:>12}   {:g} % interval of b - a\n", "", "a", "b", "b - a",
             100 * confidence);
  for (const Difference& one : differences) {
    fmt::print("{:<15}{:>12.4f}{:>12.4f}{:>+12.4f}   {:+.4f} to {:+.4f}   {}\n", one.name, one.a,
               one.b, one.b - one.a, one.low, one.high,
               one.verdict == Verdict::kSame ? "no difference shown" : name_of(one.verdict));
  }
}

void print_json(const std::vector<Difference>& differences, double confidence) {
  fmt::print(R"({{"confidence":{:g},"figures":[)", confidence);
  for (const Difference& one : differences) {
    fmt::print(
        R"({}{{"name":"{}","a":{:.6f},"b":{:.6f},"low":{:.6f},"high":{:.6f},"verdict":"{}"}})",
        &one == &differences.front() ? "" : ",", one.name, one.a, one.b, one.low, one.high,
        name_of(one.verdict));
  }
  fmt::print("]}}\n");
}

}  // namespace

int run_compare(int argc, char** argv) {
  CLI::App app("Says what changed between two runs, and whether chance explains it.",
               "spillway load compare");
  app.footer(kExamples);
  std::string first;
  std::string second;
  workload::CompareSettings settings;
  bool json = false;
  app.add_option("a", first, "--report of the first run")->required();
  app.add_option("b", second, "--report of the second run")->required();
  app.add_option("--confidence", settings.confidence, "Of each interval")
      ->check(number_between(0.5, 0.9999));
  app.add_option("--resamples", settings.resamples, "Draws")->check(CLI::Range(100, 100'000));
  app.add_option("--seed", settings.seed, "Of the draws");
  app.add_flag("--json", json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  auto a = read_run(first);
  auto b = read_run(second);
  if (!a || !b) {
    return complain(!a ? a.error() : b.error(), json, kWrongUsage);
  }
  const auto differences = workload::compare_runs(std::move(*a), std::move(*b), settings);
  if (json) {
    print_json(differences, settings.confidence);
  } else {
    print_text(differences, settings.confidence);
  }
  return std::any_of(differences.begin(), differences.end(),
                     [](const Difference& one) { return one.verdict == Verdict::kWorse; })
             ? 1
             : 0;
}

}  // namespace spillway::app
