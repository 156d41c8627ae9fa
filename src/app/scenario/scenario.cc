#include "app/scenario/scenario.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <signal.h>

#include "app/config/exchange_config.h"
#include "app/config/reader.h"
#include "app/dsp/farm_config.h"
#include "app/scenario/values.h"
#include "base/time.h"

namespace spillway::app {

namespace {

using namespace std::chrono_literals;
using Kind = ScenarioStep::Kind;

constexpr base::Duration kLongest = 2h;
constexpr double kMost = 1e12;

/// Where a block of text stands in the file, so that what is wrong in it has a line there.
struct Block {
  std::string_view key;
  int line = 0;
};

void add_block_problems(const Block& block, const std::vector<ConfigProblem>& found,
                        std::vector<ConfigProblem>& problems) {
  for (const auto& problem : found) {
    problems.push_back(
        {.key = fmt::format("{}{}{}", block.key, problem.key.empty() ? "" : ".", problem.key),
         .line = problem.line > 0 ? block.line + problem.line : block.line,
         .what = problem.what});
  }
}

void read_load(ConfigReader& parent, ScenarioLoad& load) {
  ConfigReader reader = parent.section("load");
  reader.read("rate", load.rate, 0.1, 100'000);
  reader.read("times_capacity", load.times_capacity, 0.01, 100);
  reader.read("capacity_hold", load.capacity_hold, 500ms, 10min);
  reader.read("duration", load.duration, 1s, kLongest);
  reader.read("connections", load.connections, 1, 60'000);
  reader.read("timeout", load.timeout, 1ms, 1min);
  reader.read("poisson", load.poisson);
  reader.read("late_ratio", load.late_ratio, 0, 1);
  reader.finish();
}

/// Fault, clear, signal or reload: at most one.
void read_action(ConfigReader& reader, ScenarioStep& step) {
  int actions = 0;
  if (reader.has("fault")) {
    ++actions;
    step.kind = Kind::kFault;
    reader.read("fault", step.fault);
    std::vector<ConfigProblem> found;
    (void)read_fault_call(step.fault, found);
    for (const auto& problem : found) {
      reader.problem("fault",
                     to_string({.key = problem.key, .line = 0, .what = problem.what}, "it"));
    }
  }
  if (reader.has("clear")) {
    ++actions;
    step.kind = Kind::kClear;
    reader.read("clear", step.dsp);
  }
  if (reader.has("signal")) {
    ++actions;
    step.kind = Kind::kSignal;
    size_t which = 0;
    reader.read_choice("signal", {"TERM", "HUP"}, which);
    step.signal = which == 0 ? SIGTERM : SIGHUP;
  }
  if (reader.has("reload")) {
    ++actions;
    step.kind = Kind::kReload;
    reader.read("reload", step.vars);
  }
  if (actions > 1) {
    reader.problem("", "may do one thing: fault, clear, signal or reload");
  }
  if (step.kind == Kind::kFault) {
    reader.read("dsp", step.dsp);
  }
}

void read_steps(ConfigReader& parent, Scenario& scenario) {
  for (ConfigReader& reader : parent.list("steps")) {
    ScenarioStep step;
    reader.read("name", step.name);
    reader.read("at", step.at, base::Duration{}, kLongest);
    read_action(reader, step);
    const bool of_dsp = step.kind == Kind::kFault || step.kind == Kind::kClear;
    const char* const key = step.kind == Kind::kClear ? "clear" : "dsp";
    if (of_dsp && step.dsp != "*" &&
        std::ranges::find(scenario.dsps, step.dsp) == scenario.dsps.end()) {
      reader.problem(key, fmt::format("must be a DSP of the farm, or \"*\"; is \"{}\"", step.dsp));
    }
    if (step.name.empty() || step.name == "start" || step.name == "end" ||
        std::ranges::find(scenario.steps, step.name, &ScenarioStep::name) != scenario.steps.end()) {
      reader.problem("name", "must be there, once, and neither start nor end");
    }
    if (step.at > scenario.load.duration) {
      reader.problem("at", "must not be after the load's duration");
    }
    if (!scenario.steps.empty() && step.at < scenario.steps.back().at) {
      reader.problem("at", "must not be before the step above");
    }
    for (const auto& [name, value] : step.vars) {
      if (!scenario.vars.contains(name)) {
        reader.problem("reload", fmt::format("{} is no name of vars", name));
      }
    }
    reader.finish();
    scenario.steps.push_back(std::move(step));
  }
}

/// Place of a step in time: start 0, end after all; -1 for an unknown one.
int place_of(const Scenario& scenario, std::string_view name) {
  if (name == "start" || name == "end") {
    return name == "start" ? 0 : static_cast<int>(scenario.steps.size()) + 1;
  }
  const auto found = std::ranges::find(scenario.steps, name, &ScenarioStep::name);
  return found == scenario.steps.end() ? -1 : static_cast<int>(found - scenario.steps.begin()) + 1;
}

void check_expectation(ConfigReader& reader, const Scenario& scenario, const Expectation& expect) {
  const auto is_dsp = [&](const std::string& name) {
    return name.empty() || std::ranges::find(scenario.dsps, name) != scenario.dsps.end();
  };
  for (const auto& [key, name] :
       {std::pair("dsp", expect.dsp), std::pair("except", expect.except)}) {
    if (!is_dsp(name)) {
      reader.problem(key, fmt::format("must be a DSP of the farm, is \"{}\"", name));
    }
  }
  const ScenarioValue* const value = scenario_value(expect.value);
  if (value == nullptr) {
    return;  // read_choice has said it
  }
  if (!value->of_dsp && !(expect.dsp.empty() && expect.except.empty())) {
    reader.problem(expect.dsp.empty() ? "except" : "dsp", "is of no use with this value");
  }
  if ((value->of.empty()) != expect.of.empty()) {
    reader.problem("of", value->of.empty() ? std::string("is of no use with this value")
                                           : fmt::format("must be there: {}", value->of));
  }
  if (value->needs_quota && scenario.load.times_capacity == 0) {
    reader.problem("value", "is known only with load.times_capacity");
  }
  const int from = place_of(scenario, expect.from);
  const int to = place_of(scenario, expect.to);
  if (from < 0 || to < 0) {
    reader.problem(from < 0 ? "from" : "to", "must be start, end or the name of a step");
  } else if (from >= to) {
    reader.problem("to", "must be later than from");
  }
  if (!expect.min && !expect.max) {
    reader.problem("", "must have min or max");
  }
}

void read_expectations(ConfigReader& parent, Scenario& scenario) {
  for (ConfigReader& reader : parent.list("expect")) {
    Expectation expect;
    if (!reader.has("value")) {
      reader.problem("value", "must be there");
    }
    size_t which = 0;
    const auto names = scenario_value_names();
    reader.read_choice("value", names, which);
    expect.value = names[which];
    reader.read("dsp", expect.dsp);
    reader.read("except", expect.except);
    reader.read("of", expect.of);
    reader.read("from", expect.from);
    reader.read("to", expect.to);
    for (auto [key, bound] : {std::pair("min", &expect.min), std::pair("max", &expect.max)}) {
      if (reader.has(key)) {
        *bound = 0;
        reader.read(key, **bound, -kMost, kMost);
      }
    }
    check_expectation(reader, scenario, expect);
    reader.finish();
    scenario.expect.push_back(std::move(expect));
  }
}

void read_options(ConfigReader& parent, Scenario& scenario) {
  for (ConfigReader& reader : parent.list("options")) {
    ScenarioOption option;
    reader.read("name", option.name);
    reader.read("missing", option.missing);
    reader.read("faults", option.faults);
    std::vector<std::pair<std::string, std::string>> vars;
    reader.read("vars", vars);
    for (const auto& [name, value] : vars) {
      if (!scenario.vars.contains(name)) {
        reader.problem("vars", fmt::format("{} is no name of vars", name));
      }
      option.vars[name] = value;
    }
    reader.finish();
    scenario.options.push_back(std::move(option));
  }
}

/// Farm and exchange, read as the programs will read them.
void check_programs(const Block& farm, const Block& exchange, Scenario& scenario,
                    std::vector<ConfigProblem>& problems) {
  std::vector<ConfigProblem> found;
  const FarmConfig config = read_farm_config(scenario.farm, found);
  add_block_problems(farm, found, problems);
  ScenarioVars addresses;
  for (const auto& dsp : config.dsps) {
    const auto& style = dsp.partner.style;
    scenario.dsps.push_back(style.name);
    scenario.prices[style.name] = static_cast<double>(style.price.high.micros) / 1e6;
    addresses[style.name] = "127.0.0.1:9";
  }
  ScenarioVars known = scenario.vars;
  known.insert(addresses.begin(), addresses.end());
  std::vector<std::pair<std::string, int>> unknown;
  (void)with_vars(scenario.exchange, known, &unknown);
  for (const auto& [name, line] : unknown) {
    problems.push_back({.key = std::string(exchange.key),
                        .line = exchange.line + line,
                        .what = fmt::format("${} is neither a name of vars nor a DSP", name)});
  }
  found.clear();
  if (unknown.empty()) {
    (void)read_exchange_config(scenario.exchange_text({}, addresses), found);
  }
  add_block_problems(exchange, found, problems);
}

}  // namespace

Scenario read_scenario(std::string_view text, bool shortened, const ScenarioVars& overrides,
                       std::vector<ConfigProblem>& problems) {
  Scenario scenario;
  {
    ConfigReader names(text, problems);
    if (!problems.empty()) {
      return scenario;
    }
    std::vector<std::pair<std::string, std::string>> full;
    std::vector<std::pair<std::string, std::string>> less;
    names.read("vars", full);
    names.read("short", less);
    names.read("exchange", scenario.exchange);
    scenario.vars.insert(full.begin(), full.end());
    for (auto& [name, value] : less) {
      if (!scenario.vars.contains(name)) {
        names.problem("short", fmt::format("{} is no name of vars", name));
      } else if (shortened) {
        scenario.vars[name] = value;
      }
    }
    for (const auto& [name, value] : overrides) {
      scenario.vars[name] = value;
    }
  }
  const std::string replaced = with_vars(text, scenario.vars);
  ConfigReader reader(replaced, problems);
  std::vector<std::pair<std::string, std::string>> ignored;
  std::string exchange;
  reader.read("vars", ignored);
  reader.read("short", ignored);
  reader.read("exchange", exchange);
  reader.read("about", scenario.about);
  reader.read("farm", scenario.farm);
  reader.read("quota_cores", scenario.quota_cores, 0.05, 64);
  read_load(reader, scenario.load);
  check_programs({.key = "farm", .line = reader.line("farm")},
                 {.key = "exchange", .line = reader.line("exchange")}, scenario, problems);
  read_steps(reader, scenario);
  read_expectations(reader, scenario);
  read_options(reader, scenario);
  if (scenario.load.times_capacity > 0 && scenario.quota_cores == 0) {
    reader.problem("load", "times_capacity needs quota_cores");
  }
  reader.finish();
  return scenario;
}

}  // namespace spillway::app
