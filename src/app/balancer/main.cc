#include <cstdio>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/balancer/balancer.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/change.h"
#include "app/balancer/commands.h"
#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "app/serving/console.h"
#include "app/serving/listeners.h"
#include "base/result.h"

namespace spillway::app::balancing {
namespace {

constexpr int kFailed = 1;

struct Options {
  std::string path;
  std::string admin;
  bool check = false;
  bool once = false;
  bool dry_run = false;
  bool json = false;
};

void print_wanted(const Balancer& balancer, const Options& options) {
  if (options.json) {
    fmt::print("{}", balancer.status_json());
    return;
  }
  for (const auto& watch : balancer.watches()) {
    if (!watch->error().empty()) {
      fmt::print("{}: {}\n", watch->name(), watch->error());
      continue;
    }
    fmt::print("{}: {} change{}{}\n", watch->name(), watch->wanted().size(),
               watch->wanted().size() == 1 ? "" : "s", options.dry_run ? " wanted" : "");
    for (const Change& change : watch->wanted()) {
      fmt::print("  {} {}: {}\n", to_string(change.kind), change.server, change.why);
      for (const std::string& command : change.commands) {
        fmt::print("    {}\n", command);
      }
    }
  }
}

/// The configuration of `options`, with what is wrong with it.
BalancerConfig read_config(const Options& options, std::vector<ConfigProblem>& problems) {
  const auto text = read_config_file(options.path);
  if (!text) {
    problems.push_back({.key = "", .line = 0, .what = text.error()});
    return {};
  }
  auto config = read_balancer_config(*text, problems);
  if (!options.admin.empty()) {
    config.admin_listen = options.admin;
    if (auto what = listen_problem(options.admin, !config.admin_allow_remote); !what.empty()) {
      problems.push_back({.key = "--admin-listen", .line = 0, .what = std::move(what)});
    }
  }
  return config;
}

base::Result<BalancerConfig, std::string> read_again(const Options& options) {
  std::vector<ConfigProblem> problems;
  auto config = read_config(options, problems);
  if (problems.empty()) {
    return config;
  }
  std::string all;
  for (const auto& problem : problems) {
    all += (all.empty() ? "" : "\n") + to_string(problem, options.path);
  }
  return std::unexpected(std::move(all));
}

int serve(BalancerConfig config, const Options& options) {
  raise_file_limit();
  RunOptions run{.once = options.once, .applies = !options.dry_run};
  if (!options.once) {
    run.read = [&options] { return read_again(options); };
  }
  Balancer balancer(std::move(config), std::move(run));
  if (!balancer.error().empty()) {
    return complain("spillway balancer: " + balancer.error(), options.json, kFailed);
  }
  const bool ok = balancer.run([&](const std::string& admin) {
    if (options.once) {
      return;
    }
    print_started("", admin, options.json);
  });
  if (options.once) {
    print_wanted(balancer, options);
  }
  return ok ? 0 : kFailed;
}

int run_with(const Options& options) {
  std::vector<ConfigProblem> problems;
  auto config = read_config(options, problems);
  if (!problems.empty()) {
    return report_problems(problems, options.path, options.json);
  }
  if (options.check) {
    if (options.json) {
      fmt::print("{{\"ok\":true,\"problems\":[]}}\n");
    } else {
      fmt::print("{}: good: backend {} of {} HAProxies\n", options.path, config.backend,
                 config.haproxies.size());
    }
    return 0;
  }
  return serve(std::move(config), options);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Beside HAProxy: makes a backend's servers those of a registry, gives servers whose agent "
      "died "
      "a neutral weight, and proves that weights act.",
      "spillway balancer");
  app.footer(
      "examples:\n"
      "  spillway balancer --config balancer.yaml\n"
      "  spillway balancer --config balancer.yaml --once --dry-run\n"
      "  spillway balancer status --admin 127.0.0.1:9931\n"
      "  spillway balancer lint /etc/haproxy/haproxy.cfg\n"
      "signals: SIGTERM and SIGINT stop it; HAProxy keeps its servers and weights. SIGHUP reads\n"
      "the configuration anew; a bad one changes nothing.\n"
      "exit: 0 done, 1 a problem in the configuration or the run (lint: findings), 2 wrong usage\n"
      "(lint: unreadable).");
  Options options;
  app.add_option("--config", options.path, "YAML file; docs/balancer.md has every key");
  app.add_option("--admin-listen", options.admin,
                 "Instead of the configuration's admin.listen, under the same rules");
  app.add_flag("--check,--check-config", options.check, "Say everything that is wrong, and end");
  app.add_flag("--once", options.once, "One round, print what was changed, and end");
  app.add_flag("--dry-run", options.dry_run, "Change nothing, say what would be changed");
  app.add_flag("--json", options.json, "Print JSON");
  auto* const status = app.add_subcommand("status", "What a running balancer sees");
  std::string admin = "127.0.0.1:9931";
  bool status_json = false;
  status->add_option("--admin", admin, "Where its admin listener is")->capture_default_str();
  status->add_flag("--json", status_json, "Print JSON");
  auto* const lint = app.add_subcommand("lint", "Traps in HAProxy configurations");
  std::vector<std::string> files;
  bool lint_json = false;
  lint->add_option("FILE", files, "haproxy.cfg")->required();
  lint->add_flag("--json", lint_json, "Print JSON, an object a file");
  if (const auto end = parse_command_line(app, argc, argv)) {
    return *end;
  }
  if (lint->parsed()) {
    return print_lint(files, lint_json);
  }
  if (status->parsed()) {
    return print_status(admin, status_json);
  }
  if (options.path.empty()) {
    return complain("spillway balancer: --config is required", options.json, kWrongUsage);
  }
  return run_with(options);
}

}  // namespace
}  // namespace spillway::app::balancing

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::balancing::run, argc, argv);
}
