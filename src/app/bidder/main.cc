#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "adapters/catalog_source.h"
#include "app/bidder/bidder_config.h"
#include "app/bidder/demo.h"
#include "app/bidder/service.h"
#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
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
    return complain("spillway bidder: " + service.error(), options.json, kFailed);
  }
  const bool clean = service.run([&](const std::string& listen, const std::string& admin) {
    print_started(listen, admin, options.json);
  });
  return clean ? 0 : kFailed;
}

/// `catalog`: its name, which has no password.
int check_config(const BidderConfig& config, const std::string& catalog, const Options& options) {
  if (options.json) {
    fmt::print("{{\"ok\":true,\"problems\":[]}}\n");
  } else {
    fmt::print("{}: good: {} exchanges, {} workers, catalog {}\n",
               options.demo ? "spillway bidder --demo" : options.path, config.exchanges.size(),
               config.workers, catalog);
  }
  return 0;
}

/// Puts the command line's addresses in place of the configuration's, under the same rules.
void take_addresses(const Options& options, BidderConfig& config,
                    std::vector<ConfigProblem>& problems) {
  const auto take = [&](const char* key, const std::string& address, bool loopback_only,
                        std::string& out) {
    if (address.empty()) {
      return;
    }
    if (auto what = listen_problem(address, loopback_only); !what.empty()) {
      problems.push_back({.key = key, .line = 0, .what = std::move(what)});
    }
    out = address;
  };
  take("--listen", options.listen, false, config.listen);
  take("--admin-listen", options.admin, !config.admin_allow_remote, config.admin_listen);
}

int run_with(const Options& options) {
  const std::string file = options.demo ? "spillway bidder" : options.path;
  std::string text;
  if (options.demo) {
    text = demo_config();
  } else {
    auto read = read_config_file(options.path);
    if (!read) {
      return report_problems({{.key = "", .line = 0, .what = read.error()}}, file, options.json);
    }
    text = std::move(*read);
  }
  std::vector<ConfigProblem> problems;
  auto config = read_bidder_config(text, problems);
  take_addresses(options, config, problems);
  if (!problems.empty()) {
    return report_problems(problems, file, options.json);
  }
  ServiceParts parts;
  std::optional<DemoFile> demo_file;
  if (options.demo && !options.check) {
    demo_file.emplace(options.demo_file);
    config.catalog.address = "sqlite:" + demo_file->path();
    const auto error = demo_file->error().empty()
                           ? write_demo_catalog(config.catalog.address, wall_clock_ms() / 1'000)
                           : demo_file->error();
    if (!error.empty()) {
      return complain("spillway bidder: " + error, options.json, kFailed);
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
  if (options.check) {
    return check_config(config, (*catalog)->name(), options);
  }
  parts.config_path = options.path;
  parts.catalog = std::move(*catalog);
  return serve(std::move(config), std::move(parts), options);
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
  app.add_option("--demo-file", options.demo_file,
                 "A new file for the demo's catalog, gone at its end; else one in /tmp");
  app.add_option("--listen", options.listen, "Instead of the configuration's bidder.listen");
  app.add_option("--admin-listen", options.admin, "Instead of its admin.listen");
  app.add_flag("--check-config", options.check, "Say everything that is wrong, and end");
  app.add_flag("--json", options.json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  if (!options.demo && options.path.empty()) {
    return complain("spillway bidder: --config or --demo is required", options.json, kWrongUsage);
  }
  return run_with(options);
}

}  // namespace
}  // namespace spillway::app::bidding

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::bidding::run, argc, argv);
}
