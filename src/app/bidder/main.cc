#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>
#include <unistd.h>

#include "adapters/catalog_source.h"
#include "app/bidder/bidder_config.h"
#include "app/bidder/demo.h"
#include "app/bidder/service.h"
#include "app/command_line.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/serving/console.h"
#include "app/serving/listeners.h"
#include "app/serving/wall_clock.h"

namespace spillway::app::bidding {
namespace {

constexpr int kFailed = 1;

struct Options {
  std::string path;
  std::string listen;
  std::string admin;
  std::string demo_file;
  bool demo = false;
  bool check = false;
  bool json = false;
};

int serve(BidderConfig config, ServiceParts parts, const Options& options) {
  raise_file_limit();
  Service service(std::move(config), std::move(parts));
  if (!service.error().empty()) {
    fmt::print(stderr, "spillway bidder: {}\n", service.error());
    return kFailed;
  }
  const bool clean = service.run([&](const std::string& listen, const std::string& admin) {
    print_started(listen, admin, options.json);
  });
  return clean ? 0 : kFailed;
}

int check_config(const BidderConfig& config, const Options& options) {
  if (options.json) {
    fmt::print("{{\"ok\":true,\"problems\":[]}}\n");
  } else {
    fmt::print("{}: good: {} exchanges, {} workers, catalog {}\n", options.path,
               config.exchanges.size(), config.workers, config.catalog.address);
  }
  return 0;
}

int run_with(const Options& options) {
  const std::string file = options.demo ? "spillway bidder" : options.path;
  std::string text;
  if (options.demo) {
    text = demo_config("sqlite:" + options.demo_file);
  } else {
    auto read = read_config_file(options.path);
    if (!read) {
      return report_problems({{.key = "", .line = 0, .what = read.error()}}, file, options.json);
    }
    text = std::move(*read);
  }
  std::vector<ConfigProblem> problems;
  auto config = read_bidder_config(text, problems);
  if (!problems.empty()) {
    return report_problems(problems, file, options.json);
  }
  if (!options.listen.empty()) {
    config.listen = options.listen;
  }
  if (!options.admin.empty()) {
    config.admin_listen = options.admin;
  }
  if (options.check) {
    return check_config(config, options);
  }
  ServiceParts parts;
  if (options.demo) {
    if (const auto error = write_demo_catalog(config.catalog.address, wall_clock_ms() / 1'000);
        !error.empty()) {
      fmt::print(stderr, "spillway bidder: {}\n", error);
      return kFailed;
    }
    parts.is_demo = true;
    parts.note = fmt::format(
        "three advertisers in {}; users, caps and budgets in this process alone, no Redis",
        config.catalog.address);
  }
  auto catalog = adapters::open_catalog(
      config.catalog.address,
      {.patience = std::chrono::duration_cast<std::chrono::milliseconds>(config.catalog.patience)});
  if (!catalog) {
    return report_problems({{.key = "catalog.address", .line = 0, .what = catalog.error()}}, file,
                           options.json);
  }
  parts.config_path = options.path;
  parts.catalog = std::move(*catalog);
  const int status = serve(std::move(config), std::move(parts), options);
  if (options.demo) {
    (void)std::remove(options.demo_file.c_str());
  }
  return status;
}

int run(int argc, char** argv) {
  CLI::App app("Runs the bidder: OpenRTB 2.6 requests in, bids of a catalog of campaigns out.",
               "spillway bidder");
  app.footer(
      "examples:\n"
      "  spillway bidder --demo\n"
      "  spillway bidder --config bidder.yaml\n"
      "  spillway bidder --config bidder.yaml --check-config\n"
      "  curl -d @request.json http://127.0.0.1:8090/openrtb2/bid\n"
      "  curl http://127.0.0.1:9911/metrics\n"
      "signals: SIGTERM and SIGINT stop after what is in flight, SIGHUP reloads.\n"
      "exit: 0 done, 1 a problem in the configuration or the run, 2 wrong usage.");
  Options options;
  auto* const config = app.add_option("--config", options.path,
                                      "YAML file; docs/bidder_configuration.md has every key");
  auto* const demo = app.add_flag("--demo", options.demo,
                                  "Serve a small catalog from this process alone, on loopback");
  demo->excludes(config);
  app.add_option("--demo-file", options.demo_file, "Where the demo writes its catalog")
      ->default_val(fmt::format("/tmp/spillway-bidder-demo-{}.db", ::getpid()));
  app.add_option("--listen", options.listen, "Instead of the configuration's bidder.listen");
  app.add_option("--admin-listen", options.admin, "Instead of its admin.listen");
  app.add_flag("--check-config", options.check, "Say everything that is wrong, and end");
  app.add_flag("--json", options.json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  if (!options.demo && options.path.empty()) {
    fmt::print(stderr, "spillway bidder: --config or --demo is required\n");
    return kWrongUsage;
  }
  return run_with(options);
}

}  // namespace
}  // namespace spillway::app::bidding

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::bidding::run, argc, argv);
}
