#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "app/command_line.h"
#include "app/config/units.h"
#include "app/config/url.h"
#include "app/load/generator.h"
#include "app/load/report.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/signals.h"
#include "net/timer_wheel.h"
#include "net/tls.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"

namespace {

using spillway::app::Generator;
using spillway::app::LoadSettings;
using spillway::base::Duration;
using spillway::base::Instant;

constexpr const char* kExamples = R"(Examples:
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 500 --duration 30s
  spillway load --target http://127.0.0.1:8080/openrtb2/auction --rate 2000 --duration 1m --poisson --json
Latency counts from when a request was due. The exit status is 1 when more than 1 % of the arrivals
were late or dropped, whatever the latencies.)";

struct Options {
  std::string target;
  std::string ca_file;
  double rate = 100;
  std::string duration = "10s";
  size_t connections = 256;
  std::string timeout = "500ms";
  std::string late_after = "10ms";
  std::string every;
  uint64_t seed = 1;
  bool poisson = false;
  bool json = false;
  bool allow_remote = false;
};

/// Shows how far a run is: a bar on a terminal, or one line of JSON at each interval.
class Progress final : private spillway::net::Timer {
 public:
  Progress(spillway::net::Reactor& reactor, const Generator& generator,
           std::optional<Duration> json_every)
      : reactor_(reactor),
        generator_(generator),
        json_(json_every.has_value()),
        every_(json_every.value_or(std::chrono::milliseconds(250))) {
    if (json_ || isatty(STDERR_FILENO) != 0) {
      reactor_.timers().arm(*this, reactor_.refresh() + every_);
    }
  }

  void end() {
    if (!json_ && armed()) {
      fmt::print(stderr, "\r\033[K");
    }
    cancel();
  }

 private:
  void on_timer(Instant now) override {
    if (json_) {
      fmt::print("{}\n", report_json(generator_));
      std::fflush(stdout);
    } else {
      fmt::print(stderr, "\r{}\033[K", progress_line(generator_));
    }
    reactor_.timers().arm(*this, now + every_);
  }

  spillway::net::Reactor& reactor_;
  const Generator& generator_;
  bool json_;
  Duration every_;
};

/// Empty and `settings` filled, or what is wrong.
std::string settings_of(const Options& options, LoadSettings& settings) {
  const auto url = spillway::app::parse_http_url(options.target);
  if (!url) {
    return "--target: " + url.error();
  }
  if (!spillway::app::is_loopback(url->host) && !options.allow_remote) {
    return fmt::format("--target: {} is not this machine; say --allow-remote if you may load it",
                       url->host);
  }
  const auto duration = spillway::app::parse_duration(options.duration);
  const auto timeout = spillway::app::parse_duration(options.timeout);
  if (!duration || *duration <= Duration{}) {
    return fmt::format("--duration: must be a time such as 30s, is \"{}\"", options.duration);
  }
  if (!timeout || *timeout <= Duration{}) {
    return fmt::format("--timeout: must be a time such as 500ms, is \"{}\"", options.timeout);
  }
  const auto late_after = spillway::app::parse_duration(options.late_after);
  if (!late_after) {
    return fmt::format("--late-after: must be a time such as 10ms, is \"{}\"", options.late_after);
  }
  if (!options.ca_file.empty() && !url->tls) {
    return "--ca: is of no use with a target over plain http";
  }
  if (url->tls) {
    auto tls = spillway::net::TlsClient::make({.host = url->host, .ca_file = options.ca_file});
    if (!tls) {
      return "--ca: " + tls.error();
    }
    settings.tls = std::move(*tls);
  }
  settings.late_after = *late_after;
  settings.host = url->host;
  settings.port = url->port;
  settings.path = url->target;
  settings.arrivals = {.kind = options.poisson
                                   ? spillway::workload::ArrivalSettings::Kind::kPoisson
                                   : spillway::workload::ArrivalSettings::Kind::kConstant,
                       .rate = options.rate,
                       .duration = *duration};
  settings.connections = options.connections;
  settings.timeout = *timeout;
  settings.seed = options.seed;
  return "";
}

/// What a run needs at worst beside what it has, before it starts (Little's law).
void print_capacity(const LoadSettings& settings) {
  const double needed =
      std::ceil(settings.arrivals.rate * std::chrono::duration<double>(settings.timeout).count());
  fmt::print(stderr,
             "{} arrivals at {:.1f}/s; needs up to {:.0f} connections if every answer takes the "
             "whole timeout, has {}{}\n",
             spillway::workload::Arrivals::expected(settings.arrivals), settings.arrivals.rate,
             needed, settings.connections,
             needed > static_cast<double>(settings.connections)
                 ? ": arrivals will be dropped if the target is that slow"
                 : "");
}

int load(const LoadSettings& settings, bool json, std::optional<Duration> every) {
  const spillway::net::OsClock clock;
  spillway::net::Reactor reactor(clock);
  const auto corpus = spillway::workload::Corpus::generate({.seed = settings.seed});
  Generator generator(reactor, settings, corpus);
  // The first ends the schedule, the report follows; the second ends the run.
  bool asked = false;
  const spillway::net::SignalSource signals(reactor, {SIGINT, SIGTERM}, [&](int) {
    if (asked) {
      reactor.stop();
    }
    asked = true;
    generator.stop_early();
  });
  Progress progress(reactor, generator, every);
  print_capacity(settings);
  generator.start([&reactor] { reactor.stop(); });
  reactor.run();
  progress.end();
  fmt::print("{}", json ? report_json(generator) + "\n" : report_text(generator));
  return failure_of(generator).empty() ? 0 : 1;
}

constexpr int kUsage = 2;

// CLI::Range lets nan through: it is neither below nor above.
std::string is_number(const std::string& text) {
  return text.find_first_not_of("0123456789.eE+-") == std::string::npos ? "" : "must be a number";
}

int run(int argc, char** argv) {
  CLI::App app("An open-loop load generator for OpenRTB.", "spillway load");
  app.footer(kExamples);
  Options options;
  app.add_option("--target", options.target, "http://HOST:PORT/PATH, or https")->required();
  app.add_option("--ca", options.ca_file,
                 "With https: PEM file of who may sign its certificate; else the system's store");
  app.add_option("--rate", options.rate, "Arrivals a second")
      ->check(is_number)
      ->check(CLI::Range(0.001, 1e6));
  app.add_option("--duration", options.duration, "Length of the schedule, such as 30s");
  app.add_option("--connections", options.connections, "Most connections at once")
      ->check(CLI::Range(1, 60'000));
  app.add_option("--timeout", options.timeout, "Of each request, such as 500ms");
  app.add_option("--late-after", options.late_after, "Sent later than this is late");
  app.add_option("--seed", options.seed, "Of corpus and schedule");
  app.add_flag("--poisson", options.poisson, "Random gaps instead of even ones");
  app.add_flag("--json", options.json, "Print the summary as JSON");
  app.add_option("--every", options.every, "With --json: print it at this interval too");
  app.add_flag("--allow-remote", options.allow_remote, "Let the target be another machine");
  if (const auto status = spillway::app::parse_command_line(app, argc, argv)) {
    return *status;
  }
  LoadSettings settings;
  const std::string problem = settings_of(options, settings);
  if (!problem.empty()) {
    fmt::print(stderr, "{}\n", problem);
    return kUsage;
  }
  std::optional<Duration> every;
  if (options.json && !options.every.empty()) {
    every = spillway::app::parse_duration(options.every);
    if (!every || *every <= Duration::zero()) {
      fmt::print(stderr, "--every: must be a time such as 1s, is \"{}\"\n", options.every);
      return kUsage;
    }
  }
  return load(settings, options.json, every);
}

}  // namespace

int main(int argc, char** argv) { return spillway::app::run_program(run, argc, argv); }
