#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/load/commands.h"
#include "app/load/generator.h"
#include "app/load/load_run.h"
#include "app/load/options.h"
#include "app/load/plan.h"
#include "app/load/progress.h"
#include "app/load/report.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/signals.h"
#include "workload/corpus.h"

namespace spillway::app {

namespace {

constexpr const char* kExamples = R"(Examples:
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 500 --duration 30s
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 100 --ramp-to 2000 --duration 1m
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --trace day.csv --time-scale 288 --poisson
Latency counts from when a request was due. The exit status is 1 when more than 1 % of the arrivals
were late or dropped, whatever the latencies; 2 for wrong usage and for a run that this machine
cannot carry.)";

struct RunOptions {
  LoadOptions load;
  ScheduleOptions schedule;
  bool json = false;
  std::string every;
};

int complain(const std::string& problem) {
  fmt::print(stderr, "{}\n", problem);
  return kWrongUsage;
}

int drive(const LoadSettings& settings, const RunOptions& options,
          const std::optional<workload::Corpus>& corpus, std::optional<base::Duration> every) {
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
  LoadRun run(reactor, settings, corpus ? &*corpus : nullptr, options.load.workers);
  current = &run;
  Progress progress(reactor, run, every);
  run.start([&reactor] { reactor.stop(); });
  reactor.run();
  progress.end();
  const RunSummary summary = run.summary();
  fmt::print("{}", options.json ? report_json(summary) + "\n" : report_text(summary));
  return failure_of(summary).empty() ? 0 : 1;
}

}  // namespace

int run_load(int argc, char** argv) {
  CLI::App app("An open-loop load generator for OpenRTB.", "spillway load");
  app.footer(kExamples);
  RunOptions options;
  options.load.add_to(app);
  options.schedule.add_to(app);
  app.add_flag("--json", options.json, "Print the summary as JSON");
  app.add_option("--every", options.every, "With --json: print it at this interval too");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  auto settings = settings_of(options.load);
  auto schedule = schedule_of(options.schedule);
  const auto corpus = corpus_of(options.load);
  if (!settings || !schedule || !corpus) {
    return complain(!settings ? settings.error() : !schedule ? schedule.error() : corpus.error());
  }
  settings->arrivals = std::move(*schedule);
  std::optional<base::Duration> every;
  if (options.json && !options.every.empty()) {
    const auto time = time_option("--every", options.every);
    if (!time) {
      return complain(time.error());
    }
    every = *time;
  }
  if (settings->connections == 0) {
    settings->connections = connections_for(*settings);
  }
  const LoadPlan plan = plan_of(*settings, options.load.workers, LoadMeans::of_this_machine());
  fmt::print(stderr, "{}\n", plan.text);
  if (!plan.refusal.empty()) {
    fmt::print(stderr, "{}{}\n", plan.refusal,
               options.load.force ? "; going on as told" : "; say --force to run it all the same");
    if (!options.load.force) {
      return kWrongUsage;
    }
  }
  return drive(*settings, options, *corpus, every);
}

}  // namespace spillway::app
