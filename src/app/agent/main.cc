#include <cstdio>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>

#include "app/agent/agent_config.h"
#include "app/agent/service.h"
#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/serving/console.h"
#include "base/result.h"
#include "capacity/law_settings.h"

namespace spillway::app::agent {
namespace {

constexpr int kFailed = 1;

struct Options {
  std::string path;
  bool check = false;
  bool json = false;
};

int check_config(const AgentConfig& config, const Options& options) {
  if (options.json) {
    fmt::print("{{\"ok\":true,\"problems\":[]}}\n");
    return 0;
  }
  fmt::print(
      "{}: good: server {} of zone {}, class {}, law {}, samples {}{}{}\n", options.path, config.id,
      config.zone, config.server_class, to_string(config.law.law), config.peers ? "to peers" : "",
      config.peers && config.redis ? " and " : "",
      config.redis && config.redis_samples ? "through Redis" : (config.peers ? "" : "to nobody"));
  return 0;
}

/// The configuration of `options`, with what is wrong with it.
AgentConfig read_config(const Options& options, std::vector<ConfigProblem>& problems) {
  const auto text = read_config_file(options.path);
  if (!text) {
    problems.push_back({.key = "", .line = 0, .what = text.error()});
    return {};
  }
  return read_agent_config(*text, problems);
}

base::Result<AgentConfig, std::string> read_again(const Options& options) {
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

int run_with(const Options& options) {
  std::vector<ConfigProblem> problems;
  auto config = read_config(options, problems);
  if (!problems.empty()) {
    return report_problems(problems, options.path, options.json);
  }
  if (options.check) {
    return check_config(config, options);
  }
  Service service(std::move(config), [&options] { return read_again(options); });
  if (!service.error().empty()) {
    return complain("spillway agent: " + service.error(), options.json, kFailed);
  }
  service.run([&](const std::string& listen, const std::string& admin) {
    print_started(listen, admin, options.json);
  });
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Stands beside a server behind HAProxy and answers its agent-check with the weight that\n"
      "makes the server as full as its zone's average.",
      "spillway agent");
  app.footer(
      "examples:\n"
      "  spillway agent --config agent.yaml --check\n"
      "  spillway agent --config agent.yaml\n"
      "  printf x | nc 127.0.0.1 9100                      what HAProxy is told\n"
      "  curl http://127.0.0.1:9921/status                 why\n"
      "  curl -X POST http://127.0.0.1:9921/freeze         hold the weight (also SIGUSR1)\n"
      "  curl -X POST 'http://127.0.0.1:9921/pin?weight=80'\n"
      "signals: SIGTERM drains, waits and ends; again, or SIGINT, ends at once; SIGUSR1 freezes\n"
      "and unfreezes; SIGHUP reads law, drain and peers.list anew, a bad file changes nothing.\n"
      "exit: 0 done, 1 a problem in the configuration or the run, 2 wrong usage.");
  Options options;
  app.add_option("--config", options.path, "YAML file; docs/agent.md has every key")->required();
  app.add_flag("--check,--check-config", options.check, "Say everything that is wrong, and end");
  app.add_flag("--json", options.json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  return run_with(options);
}

}  // namespace
}  // namespace spillway::app::agent

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::agent::run, argc, argv);
}
