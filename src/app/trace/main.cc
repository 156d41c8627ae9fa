#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/command_line.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/trace/breaker_trace.h"
#include "app/trace/limiter_trace.h"
#include "app/trace/tracer.h"

namespace spillway::app {
namespace {

struct Kind {
  const char* name;
  const char* what;
  const char* footer;
  MakeTracer make;
};

constexpr const char* kBreakerFooter =
    "input:   t_ms start id\n"
    "         t_ms end id ok|error|slow|cancelled duration_ms\n"
    "output:  CLOSED|OPEN|HALF_OPEN|RAMPING, after a start also admitted|refused\n"
    "keys of classic: window: {type: count|time, size, min_calls}, failure_rate, slow_rate, "
    "slow_ms,\n"
    "         half_open_calls, open_ms, open_growth, open_jitter, open_cap_ms, p99_ceiling_ms, "
    "seed\n"
    "keys of spillway: guard: {as in docs/configuration.md}, offered, seed\n"
    "examples:\n"
    "  echo 'rules: classic' > classic.yaml\n"
    "  printf '0 start a\\n20 end a error 20\\n' | spillway trace breaker --config classic.yaml\n"
    "  spillway trace breaker --config guard.yaml < calls.txt > states.txt";

constexpr const char* kLimiterFooter =
    "input:   t_ms rtt_ns inflight dropped(0|1)\n"
    "output:  the limit after that call\n"
    "keys:    algorithm: latency|vegas|gradient2|aimd, mode: spillway|netflix, initial, min, max,\n"
    "         harmless, max_healthy, vegas: {probe_jitter}\n"
    "examples:\n"
    "  echo '{algorithm: vegas, mode: netflix}' > vegas.yaml\n"
    "  printf '0 50000000 20 0\\n' | spillway trace limiter --config vegas.yaml";

constexpr std::array kKinds{
    Kind{"breaker", "Prints the state of a circuit breaker after each event.", kBreakerFooter,
         make_breaker_trace},
    Kind{"limiter", "Prints a concurrency limit after each call.", kLimiterFooter,
         make_limiter_trace},
};

int refuse(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  return kWrongUsage;
}

/// Every line of the standard input through `tracer`; ends at the first wrong one.
int run_lines(Tracer& tracer) {
  std::string line;
  for (uint64_t number = 1; std::getline(std::cin, line); ++number) {
    const auto said = tracer.line(line);
    if (!said) {
      std::cout.flush();
      return refuse(fmt::format("line {}: {}", number, said.error()));
    }
    std::cout << *said << '\n';
  }
  std::cout.flush();
  return std::cout.good() ? 0 : 1;
}

int trace(const Kind& kind, const std::string& path) {
  std::string text;
  if (!path.empty()) {
    auto read = read_config_file(path);
    if (!read) {
      return refuse(read.error());
    }
    text = std::move(*read);
  }
  std::vector<ConfigProblem> problems;
  const auto tracer = kind.make(text, problems);
  for (const ConfigProblem& problem : problems) {
    fmt::print(stderr, "{}\n", to_string(problem, path));
  }
  return tracer == nullptr ? kWrongUsage : run_lines(*tracer);
}

int run(int argc, char** argv) {
  CLI::App app("Runs a recorded or made-up sequence of events through one algorithm.",
               "spillway trace");
  app.footer(
      "examples:\n"
      "  spillway trace breaker --config classic.yaml < calls.txt > states.txt\n"
      "  spillway trace breaker --help\n"
      "exit: 0 done, 2 wrong usage, configuration or line.");
  app.require_subcommand(1);
  std::string config;
  for (const Kind& kind : kKinds) {
    CLI::App* command = app.add_subcommand(kind.name, kind.what);
    command->footer(kind.footer);
    command->add_option("--config", config, "YAML file; without it the defaults hold");
  }
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  std::ios::sync_with_stdio(false);
  for (const Kind& kind : kKinds) {
    if (app.got_subcommand(kind.name)) {
      return trace(kind, config);
    }
  }
  return kWrongUsage;
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
