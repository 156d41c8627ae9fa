#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/balance/balance_report.h"
#include "app/balance/samples_file.h"
#include "app/command_line.h"
#include "app/config/complaint.h"
#include "base/time.h"
#include "capacity/forecast.h"
#include "capacity/law_settings.h"
#include "capacity/stability.h"

namespace spillway::app {
namespace {

constexpr int kFailed = 1;

struct Options {
  std::string samples;
  std::string law = "capacity";
  std::string plot;
  double period_s = 2;
  double own_delay_s = 0.5;
  double mean_delay_s = 0.5;
  bool json = false;
  bool verify = false;
  BalanceReport report;
};

base::Duration duration_of(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

/// Takes what the options say of the law. Empty, or what is wrong with them.
std::string bind_law(Options& options) {
  auto& settings = options.report.settings;
  const auto law = capacity::law_of(options.law);
  if (!law) {
    return fmt::format(
        "spillway balance: --law: \"{}\" is none of equal, static, setpoint, "
        "zone_mean_additive, zone_mean_multiplicative, capacity",
        options.law);
  }
  settings.law.law = *law;
  settings.law.period = duration_of(options.period_s);
  settings.law.own_delay = duration_of(options.own_delay_s);
  settings.law.mean_delay = settings.publish_delay = duration_of(options.mean_delay_s);
  std::string all;
  for (const auto& problem : capacity::check(settings.law)) {
    all += fmt::format("{}spillway balance: {}: {}", all.empty() ? "" : "\n", problem.key,
                       problem.what);
  }
  return all;
}

void add_law_options(CLI::App& command, Options& options) {
  auto& law = options.report.settings.law;
  command.add_option("--law", options.law, "Control law")->capture_default_str();
  command.add_option("--period", options.period_s, "Seconds between two steps")
      ->check(number_between(0.1, 600.0))
      ->capture_default_str();
  command.add_option("--own-delay", options.own_delay_s, "Seconds until traffic follows a weight")
      ->check(number_between(0.0, 600.0))
      ->capture_default_str();
  command.add_option("--mean-delay", options.mean_delay_s, "Seconds until peers have a sample")
      ->check(number_between(0.0, 600.0))
      ->capture_default_str();
  command.add_option("--gain", law.gain, "Of the laws that integrate")->capture_default_str();
  command.add_option("--setpoint", law.setpoint, "CPU, of law setpoint")->capture_default_str();
  command.add_option("--smoothing", law.smoothing, "Of law capacity")->capture_default_str();
  command.add_option("--min-weight", law.min_weight, "Least weight")->capture_default_str();
  command.add_flag("--latency-equal", law.latency_equal, "Equal waits instead of equal CPU");
  command.add_flag("--allow-unsafe-gain", law.allow_unsafe_gain, "To see what would happen");
}

int run_verify(const RecordedSamples& recorded, const Options& options) {
  const Verified verified = verify(recorded.samples, options.report.settings);
  fmt::print("{} of {} decisions are the same to the last bit\n", verified.same, verified.all);
  if (!verified.first_other.empty()) {
    fmt::print("first other: {}\n", verified.first_other);
  }
  return verified.same == verified.all ? 0 : kFailed;
}

int run_report(Options& options) {
  if (const std::string problem = bind_law(options); !problem.empty()) {
    return complain(problem, options.json, kWrongUsage);
  }
  const auto failed = [&options](const std::string& why) {
    return complain(fmt::format("spillway balance: {}: {}", options.samples, why), options.json,
                    kFailed);
  };
  std::ifstream file;
  if (options.samples != "-") {
    file.open(options.samples);
    if (!file) {
      return failed("cannot be read");
    }
  }
  const auto recorded = read_samples(options.samples == "-" ? std::cin : file);
  if (recorded.bad_lines > 0) {
    fmt::print(stderr, "spillway balance: {}: {} lines left out, the first: {}\n", options.samples,
               recorded.bad_lines, recorded.first_problem);
  }
  if (recorded.samples.empty()) {
    return failed("has no samples");
  }
  if (options.verify) {
    return run_verify(recorded, options);
  }
  BalanceReport& report = options.report;
  report.samples = recorded.samples.size();
  report.bad_lines = recorded.bad_lines;
  report.forecast = capacity::forecast(recorded.samples, report.settings);
  if (report.forecast.zones == 0) {
    return failed(
        "no server that serves says how many requests it answered well (the agents' load.url): "
        "there is nothing to compare");
  }
  fmt::print("{}", options.json ? report_json(report) : report_text(report));
  if (!options.plot.empty()) {
    std::ofstream plot(options.plot);
    plot << report_svg(report);
    if (!plot.flush()) {
      fmt::print(stderr, "spillway balance: {}: cannot be written\n", options.plot);
      return kFailed;
    }
  }
  return 0;
}

int run_check_gain(Options& options) {
  options.law = options.law == "capacity" ? "zone_mean_multiplicative" : options.law;
  if (const std::string problem = bind_law(options); !problem.empty()) {
    return complain(problem, false, kFailed);
  }
  const auto& law = options.report.settings.law;
  const double delay = capacity::delay_periods(law.period, law.own_delay, law.mean_delay);
  fmt::print("safe: the loop acts {:.2f} periods late; it rings above {:.3f}, best is {:.3f}\n",
             delay, capacity::max_gain(delay), capacity::best_gain(delay));
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("What a control law would have done with a recorded load.", "spillway balance");
  app.footer(
      "examples:\n"
      "  spillway balance report --samples day.jsonl\n"
      "  spillway balance report --samples day.jsonl --law zone_mean_additive --gain 0.1 --json\n"
      "  spillway balance report --samples day.jsonl --price 0.34 --target 0.65 --plot day.svg\n"
      "  spillway balance report --samples day.jsonl --verify\n"
      "  spillway balance check-gain --law zone_mean_additive --gain 0.3 --period 5\n"
      "exit: 0 done, 1 unreadable or nothing to compare, other decisions or unsafe, 2 wrong "
      "usage.");
  app.require_subcommand(1);
  Options options;
  CLI::App* report = app.add_subcommand(
      "report", "Spread, instances and money: observed beside what a law would have made of it");
  report->add_option("--samples", options.samples, "JSONL, a sample a line; - for standard input")
      ->required();
  add_law_options(*report, options);
  report->add_option("--target", options.report.settings.target, "CPU of the fullest server")
      ->check(number_between(0.05, 0.95))
      ->capture_default_str();
  report->add_option("--price", options.report.price_per_hour, "Of an instance, an hour")
      ->check(number_between(0.0, 1e6));
  report->add_option("--plot", options.plot, "Write an SVG there");
  report->add_flag("--json", options.json, "Print JSON");
  report->add_flag("--verify", options.verify,
                   "Only say whether the recorded decisions are this law's, to the last bit");
  CLI::App* gain = app.add_subcommand("check-gain", "Whether a gain is safe for the delays");
  add_law_options(*gain, options);
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  return app.got_subcommand(report) ? run_report(options) : run_check_gain(options);
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
