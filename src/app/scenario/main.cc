#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/scenario/compare.h"
#include "app/scenario/record.h"
#include "app/scenario/scenario.h"
#include "app/scenario/scenario_run.h"
#include "app/scenario/values.h"
#include "app/scenario/verdict.h"

namespace spillway::app {
namespace {

constexpr int kNotMet = 1;
constexpr int kCouldNotRun = 3;
constexpr int kUnfit = 77;  // what test runners take for "skipped"
constexpr int kInterrupted = 130;

constexpr const char* kExamples = R"(Examples:
  spillway scenario run scenarios/one_dsp_hangs.yaml
  spillway scenario run scenarios/one_dsp_hangs.yaml --short --json
  spillway scenario check scenarios/*.yaml
  spillway scenario compare scenarios/options.yaml
  spillway scenario values
Exit status: 0 every expectation met, 1 one was not, 2 wrong usage or file, 3 it could not be run,
77 this machine cannot judge it (no control groups, or no head-room), 130 interrupted.
docs/scenarios.md has every key and value.)";

struct Options {
  std::string file;
  std::vector<std::string> files;
  bool shortened = false;
  bool json = false;
};

std::string name_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

/// Nothing when the file is not sound, after saying all that is wrong.
std::optional<Scenario> load_scenario(const std::string& path, bool shortened, bool json) {
  const auto text = read_config_file(path);
  if (!text) {
    complain("spillway scenario: " + text.error(), json, kWrongUsage);
    return std::nullopt;
  }
  std::vector<ConfigProblem> problems;
  auto scenario = read_scenario(*text, shortened, {}, problems);
  if (!problems.empty()) {
    report_problems(problems, path, json);
    return std::nullopt;
  }
  return scenario;
}

ScenarioRun::Settings settings_of(const ScenarioVars& vars, bool faults) {
  ScenarioRun::Settings settings;
  settings.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  settings.vars = vars;
  settings.faults = faults;
  if (isatty(STDERR_FILENO) != 0) {
    settings.on_progress = [](std::string_view line) { fmt::print(stderr, "\r{}\033[K", line); };
  }
  return settings;
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "\r\033[K");
  }
}

int status_of(RunEnd end) {
  switch (end) {
    case RunEnd::kRan:
      return 0;
    case RunEnd::kInterrupted:
      return kInterrupted;
    case RunEnd::kFailed:
      return kCouldNotRun;
    case RunEnd::kUnfit:
      return kUnfit;
  }
  return kCouldNotRun;
}

int run_one(const Options& options) {
  const auto scenario = load_scenario(options.file, options.shortened, options.json);
  if (!scenario) {
    return kWrongUsage;
  }
  ScenarioRun run(*scenario, settings_of({}, true));
  const RunEnd end = run.run();
  end_progress();
  const std::string name = name_of(options.file);
  if (end != RunEnd::kRan) {
    const auto seen = end == RunEnd::kUnfit && run.record().snapshots.contains("end")
                          ? judge(*scenario, run.record())
                          : std::vector<Finding>{};
    if (options.json) {
      fmt::print("{}\n", findings_json(name, options.shortened, run.record(), seen, run.why()));
    } else if (!seen.empty()) {
      fmt::print("{}", findings_text(name, *scenario, run.record(), seen));
    }
    fmt::print(stderr, "{}: {}: {}\n", name,
               end == RunEnd::kUnfit ? "cannot be judged on this machine" : "did not run",
               run.why());
    return status_of(end);
  }
  const auto findings = judge(*scenario, run.record());
  if (options.json) {
    fmt::print("{}\n", findings_json(name, options.shortened, run.record(), findings, ""));
  } else {
    fmt::print("{}", findings_text(name, *scenario, run.record(), findings));
    if (run.record().capacity_rate > 0) {
      fmt::print("  capacity {:.0f}/s: {:.2f} cores at {:.0f} us an auction\n",
                 run.record().capacity_rate, scenario->quota_cores,
                 run.record().auction_cpu_s * 1e6);
    }
    fmt::print("  generator used {:.0f} % of a processor, farm {:.0f} %\n",
               100 * run.load_busy_ratio(), 100 * run.farm_busy_ratio());
  }
  return all_met(findings) ? 0 : kNotMet;
}

int compare(const Options& options) {
  const auto scenario = load_scenario(options.file, options.shortened, options.json);
  if (!scenario) {
    return kWrongUsage;
  }
  if (scenario->options.empty() || scenario->options.front().faults) {
    return complain(
        options.file + ": options: the first must be the day without faults (faults: false)",
        options.json, kWrongUsage);
  }
  std::vector<OptionFigures> all;
  Record calm;
  for (const auto& option : scenario->options) {
    if (!option.missing.empty()) {
      all.push_back({.name = option.name, .missing = option.missing});
      continue;
    }
    ScenarioRun run(*scenario, settings_of(option.vars, option.faults));
    const RunEnd end = run.run();
    end_progress();
    if (end != RunEnd::kRan) {
      return complain(fmt::format("{}: did not run: {}", option.name, run.why()), options.json,
                      status_of(end));
    }
    if (!option.faults) {
      calm = run.record();
    }
    all.push_back(figures_of(*scenario, option, run.record(), calm));
    if (!options.json) {
      fmt::print(stderr, "{} done\n", option.name);
    }
  }
  fmt::print("{}", options.json ? comparison_json(all) : comparison_text(all));
  return 0;
}

int check(const Options& options) {
  int status = 0;
  for (const auto& file : options.files) {
    for (const bool shortened : {false, true}) {
      status = load_scenario(file, shortened, false) ? status : kWrongUsage;
    }
  }
  return status;
}

int run(int argc, char** argv) {
  CLI::App app("Bad days on order: real programs, real faults, expectations and what was measured.",
               "spillway scenario");
  app.footer(kExamples);
  app.require_subcommand(1);
  Options options;
  auto* const one = app.add_subcommand("run", "Run one scenario");
  auto* const both = app.add_subcommand("compare", "Run a scenario once for each of its options");
  for (auto* command : {one, both}) {
    command->add_option("file", options.file, "A file of scenarios/")->required();
    command->add_flag("--short", options.shortened, "With the file's values for a short run");
    command->add_flag("--json", options.json, "Print one JSON object");
  }
  auto* const sound = app.add_subcommand("check", "Say everything that is wrong with files");
  sound->add_option("files", options.files, "Files of scenarios/")->required();
  auto* const values = app.add_subcommand("values", "List what can be expected");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  if (values->parsed()) {
    for (const auto& value : scenario_values()) {
      fmt::print("{:<20} {}\n", value.name, value.meaning);
    }
    return 0;
  }
  return one->parsed() ? run_one(options) : both->parsed() ? compare(options) : check(options);
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
