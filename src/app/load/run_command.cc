#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/load/commands.h"
#include "app/load/generator.h"
#include "app/load/load_run.h"
#include "app/load/options.h"
#include "app/load/outputs.h"
#include "app/load/plan.h"
#include "app/load/progress.h"
#include "app/load/report.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/signals.h"
#include "workload/corpus.h"
#include "workload/gates.h"

namespace spillway::app {

namespace {

constexpr const char* kExamples =
    R"(Other commands: spillway load compare --help, spillway load capacity --help
Examples:
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 500 --duration 30s
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 100 --ramp-to 2000 --duration 1m
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 500 --gates gates.txt --html run.html
  spillway load --target http://127.0.0.1:8080/bid --corpus w2 --shuffle --rate 2000 --workers 2
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --trace day.csv --time-scale 288 --poisson
Latency counts from when a request was due. The exit status is 1 when more than 1 % of the arrivals
were late or dropped, whatever the latencies, and when a gate does not hold; 2 for wrong usage and for a run that this machine
cannot carry.)";

struct RunOptions {
  LoadOptions load;
  CorpusOptions corpus;
  ScheduleOptions schedule;
  OutputOptions outputs;
  bool json = false;
  std::string every_text;
  std::optional<base::Duration> every;
};

/// Prints and writes the report; the exit status.
int conclude(const RunSummary& run, const RunOptions& options,
             const std::vector<workload::Gate>& gates) {
  const auto results = workload::check_gates(gates, figures_of(run));
  fmt::print("{}", options.json ? report_json(run, results) + "\n"
                                : report_text(run) + gates_text(results));
  const std::string problem =
      write_outputs(options.outputs, run, "spillway load " + options.load.targets.front(), results);
  if (!problem.empty()) {
    fmt::print(stderr, "{}\n", problem);
  }
  const bool passed =
      std::all_of(results.begin(), results.end(), [](const auto& result) { return result.passed; });
  return failure_of(run).empty() && passed && problem.empty() ? 0 : 1;
}

int drive(const LoadSettings& settings, const RunOptions& options, const workload::Corpus* corpus,
          const std::vector<workload::Gate>& gates) {
  const net::OsClock clock;
  net::Reactor reactor(clock);
  // The first ends the schedule, the report follows; the second ends the run.
  LoadRun* current = nullptr;
  bool asked = false;
  const net::SignalSource signals(reactor, {SIGINT, SIGTERM}, [&](int) {
    if (asked) {
      reactor.stop();
    }
    asked = true;
    current->stop_early();
  });
  LoadRun run(reactor, settings, corpus, options.load.workers);
  current = &run;
  Progress progress(reactor, run, options.json ? options.every : std::nullopt);
  run.start([&reactor] { reactor.stop(); });
  reactor.run();
  progress.end();
  return conclude(run.summary(), options, gates);
}

}  // namespace

int run_load(int argc, char** argv) {
  CLI::App app("An open-loop load generator for OpenRTB.", "spillway load");
  app.footer(kExamples);
  RunOptions options;
  options.load.add_to(app);
  options.corpus.add_to(app);
  options.schedule.add_to(app);
  options.outputs.add_to(app);
  app.add_flag("--json", options.json, "Print the summary as JSON");
  app.add_option("--every", options.every_text, "With --json: print it at this interval too");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  auto settings = settings_of(options.load);
  if (!settings) {
    return complain(settings.error(), options.json, kWrongUsage);
  }
  auto schedule = schedule_of(options.schedule, options.corpus.time_scale);
  if (!schedule) {
    return complain(schedule.error(), options.json, kWrongUsage);
  }
  settings->arrivals = std::move(*schedule);
  settings->shuffle = options.corpus.shuffle;
  const auto corpus = corpus_of(options.corpus, options.load.seed);
  if (!corpus) {
    return complain(corpus.error(), options.json, kWrongUsage);
  }
  const auto gates = gates_of(options.outputs);
  if (!gates) {
    return complain(gates.error(), options.json, kWrongUsage);
  }
  if (!options.every_text.empty()) {
    const auto every = time_option("--every", options.every_text);
    if (!every) {
      return complain(every.error(), options.json, kWrongUsage);
    }
    options.every = *every;
  }
  if (settings->connections == 0) {
    settings->connections = connections_for(*settings);
  }
  const LoadPlan plan = plan_of(*settings, options.load.workers, LoadMeans::of_this_machine());
  fmt::print(stderr, "{}\n", plan.text);
  if (!plan.refusal.empty()) {
    if (!options.load.force) {
      return complain(plan.refusal + "; say --force to run it all the same", options.json,
                      kWrongUsage);
    }
    fmt::print(stderr, "{}; going on as told\n", plan.refusal);
  }
  return drive(*settings, options, corpus->has_value() ? &**corpus : nullptr, *gates);
}

}  // namespace spillway::app
