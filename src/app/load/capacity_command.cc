#include <algorithm>
#include <chrono>
#include <cstdio>
#include <expected>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/url.h"
#include "app/load/capacity.h"
#include "app/load/commands.h"
#include "app/load/generator.h"
#include "app/load/load_run.h"
#include "app/load/metrics_page.h"
#include "app/load/options.h"
#include "app/load/plan.h"
#include "base/result.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "workload/capacity_search.h"
#include "workload/corpus.h"
#include "workload/rate_profile.h"

namespace spillway::app {

namespace {

using workload::CapacitySearch;

constexpr const char* kExamples = R"(Examples:
  spillway load capacity --target http://127.0.0.1:8080/openrtb2/auction
  spillway load capacity --target http://127.0.0.1:8080/openrtb2/auction --metrics http://127.0.0.1:9090/metrics
Capacity is the highest rate held for --hold with no deadline miss and under 0.1 % shed. Without
--metrics a miss is an answer later than its request's tmax, and shed is whatever failed. The exit
status is 1 when no rate was held.)";

/// A server that was overloaded has this long to work off its queues.
constexpr auto kPause = std::chrono::milliseconds(500);

struct CapacityOptions {
  LoadOptions load;
  CorpusOptions corpus;
  workload::CapacitySettings search;
  std::string probe = "3s";
  std::string hold = "30s";
  std::string metrics;
  std::string misses_metric = "spillway_exchange_deadline_misses_total";
  std::string shed_metric = "spillway_exchange_shed_total";
  bool json = false;

  void add_to(CLI::App& app) {
    load.add_to(app);
    corpus.add_to(app);
    app.add_option("--first-rate", search.first_rate, "Where the search begins, arrivals a second")
        ->check(number_between(1, workload::RateProfile::kRateMax));
    app.add_option("--max-rate", search.rate_max, "Where it ends at the latest")
        ->check(number_between(1, workload::RateProfile::kRateMax));
    app.add_option("--precision", search.precision, "How close held and not held come")
        ->check(number_between(0.005, 0.5));
    app.add_option("--probe", probe, "Length of the trials on the way");
    app.add_option("--hold", hold, "Length of the trial that counts");
    app.add_option("--metrics", metrics, "URL of the server's metrics: its own counters judge");
    app.add_option("--misses-metric", misses_metric, "The counter of its deadline misses");
    app.add_option("--shed-metric", shed_metric, "The counter of what it shed");
    app.add_flag("--json", json, "Print the result as JSON");
  }
};

/// Runs the trials of one search.
class Capacity {
 public:
  Capacity(const CapacityOptions& options, LoadSettings settings, const workload::Corpus* corpus,
           std::optional<HttpUrl> metrics)
      : options_(options),
        settings_(std::move(settings)),
        corpus_(corpus),
        metrics_(std::move(metrics)) {}

  /// "" or why the search could not go on.
  std::string run() {
    auto limits = options_.search;
    limits.rate_max = std::max(limits.first_rate, std::min(limits.rate_max, carried_rate()));
    CapacitySearch search(limits);
    while (const auto trial = search.next()) {
      const auto verdict = attempt(*trial);
      if (!verdict) {
        return verdict.error();
      }
      search.on_result(verdict->held);
      generator_bound_ = verdict->generator_bound || (generator_bound_ && verdict->held);
      fmt::print(stderr, "{:>10.1f}/s for {:.0f} s: {}\n", trial->rate,
                 std::chrono::duration<double>(trial->duration).count(),
                 verdict->held ? "held" : verdict->why);
      if (!verdict->held) {
        std::this_thread::sleep_for(kPause);
      }
    }
    capacity_ = search.capacity();
    generator_bound_ = generator_bound_ || search.at_limit();
    return "";
  }

  [[nodiscard]] double capacity() const { return capacity_; }

  /// What stopped it was the generator, or a limit of the search.
  [[nodiscard]] bool generator_bound() const { return generator_bound_; }

 private:
  /// The highest rate this machine can carry with the timeout and the workers there are.
  [[nodiscard]] double carried_rate() const {
    LoadSettings one = settings_;
    one.arrivals.profile = workload::RateProfile::constant(1, std::chrono::seconds(1));
    one.connections = one.connections == 0 ? kConnectionsMax : one.connections;
    const LoadPlan plan = plan_of(one, options_.load.workers, means_);
    const double timeout = std::chrono::duration<double>(one.timeout).count();
    return std::min(static_cast<double>(plan.connections_had) / timeout,
                    kWorkerRateMax * static_cast<double>(plan.workers_had));
  }

  base::Result<TrialVerdict, std::string> attempt(const CapacitySearch::Trial& trial) {
    LoadSettings settings = settings_;
    settings.arrivals.profile = workload::RateProfile::constant(trial.rate, trial.duration);
    if (settings.connections == 0) {
      settings.connections = connections_for(settings);
    }
    const auto before = counts();
    if (!before) {
      return std::unexpected(before.error());
    }
    const net::OsClock clock;
    net::Reactor reactor(clock);
    LoadRun run(reactor, settings, corpus_, options_.load.workers);
    run.start([&reactor] { reactor.stop(); });
    reactor.run();
    const auto after = counts();
    if (!after) {
      return std::unexpected(after.error());
    }
    const ServerCounts grown{.misses = after->misses - before->misses,
                             .shed = after->shed - before->shed};
    return judge_trial(run.summary(), metrics_ ? &grown : nullptr);
  }

  base::Result<ServerCounts, std::string> counts() const {
    if (!metrics_) {
      return ServerCounts{};
    }
    const auto page = fetch_page(*metrics_);
    if (!page) {
      return std::unexpected("--metrics: " + page.error());
    }
    for (const std::string& name : {options_.misses_metric, options_.shed_metric}) {
      if (!page->contains("# TYPE " + name + " ")) {
        return std::unexpected(fmt::format("--metrics: the page has no metric {}", name));
      }
    }
    return ServerCounts{.misses = sum_of_metric(*page, options_.misses_metric),
                        .shed = sum_of_metric(*page, options_.shed_metric)};
  }

  const CapacityOptions& options_;
  LoadSettings settings_;
  const workload::Corpus* corpus_;
  std::optional<HttpUrl> metrics_;
  LoadMeans means_ = LoadMeans::of_this_machine();
  double capacity_ = 0;
  bool generator_bound_ = false;
};

/// Empty, or what is wrong; fills what the texts say.
std::string read_texts(CapacityOptions& options, std::optional<HttpUrl>& metrics) {
  const auto probe = time_option("--probe", options.probe);
  const auto hold = time_option("--hold", options.hold);
  if (!probe || !hold) {
    return !probe ? probe.error() : hold.error();
  }
  options.search.probe = *probe;
  options.search.hold = *hold;
  if (options.metrics.empty()) {
    return "";
  }
  const auto url = parse_http_url(options.metrics);
  if (!url || url->tls) {
    return "--metrics: " + (url ? std::string("must be plain http") : url.error());
  }
  if (!is_loopback(url->host) && !options.load.allow_remote) {
    return fmt::format("--metrics: {} is not this machine; say --allow-remote", url->host);
  }
  metrics = *url;
  return "";
}

}  // namespace

int run_capacity(int argc, char** argv) {
  CLI::App app("Finds the highest rate that a server holds.", "spillway load capacity");
  app.footer(kExamples);
  CapacityOptions options;
  options.add_to(app);
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  std::optional<HttpUrl> metrics;
  if (const auto problem = read_texts(options, metrics); !problem.empty()) {
    return complain(problem, options.json, kWrongUsage);
  }
  auto settings = settings_of(options.load);
  if (!settings) {
    return complain(settings.error(), options.json, kWrongUsage);
  }
  settings->shuffle = options.corpus.shuffle;
  const auto corpus = corpus_of(options.corpus, options.load.seed);
  if (!corpus) {
    return complain(corpus.error(), options.json, kWrongUsage);
  }
  Capacity capacity(options, std::move(*settings), corpus->has_value() ? &**corpus : nullptr,
                    std::move(metrics));
  if (const auto problem = capacity.run(); !problem.empty()) {
    return complain(problem, options.json, kWrongUsage);
  }
  if (options.json) {
    fmt::print(R"({{"capacity_per_s":{:.1f},"generator_bound":{},"hold_s":{:.0f}}})"
               "\n",
               capacity.capacity(), capacity.generator_bound(),
               std::chrono::duration<double>(options.search.hold).count());
  } else {
    fmt::print("capacity {:.1f}/s{}\n", capacity.capacity(),
               capacity.generator_bound()
                   ? " at least: what ended the search was the generator, not the server"
                   : "");
  }
  return capacity.capacity() > 0 ? 0 : 1;
}

}  // namespace spillway::app
