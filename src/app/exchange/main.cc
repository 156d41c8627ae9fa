#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>  // NOLINT(misc-include-cleaner): its parts do not stand alone
#include <fmt/core.h>
#include <sys/resource.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/config/exchange_config.h"
#include "app/config/plan.h"
#include "app/config/reader.h"
#include "app/exchange/dsp_tls.h"
#include "app/exchange/service.h"
#include "app/serving/console.h"
#include "app/serving/listeners.h"
#include "net/tls.h"

namespace spillway::app {
namespace {

constexpr int kFailed = 1;

MachineLimits machine_limits() {
  MachineLimits machine;
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  uint32_t low = 0;
  uint32_t high = 0;
  if (range >> low >> high && high > low) {
    machine.ephemeral_ports = high - low + 1;
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    machine.open_files = files.rlim_max;
  }
  return machine;
}

int check_config(const ExchangeConfig& config, const std::string& path, bool json) {
  if (const auto tls = load_tls_of_dsps(config.snapshot, {}); !tls) {
    return report_problems({{.key = "", .line = 0, .what = tls.error()}}, path, json);
  }
  if (!config.tls.certificate_file.empty()) {
    if (const auto tls = net::TlsServer::make(config.tls); !tls) {
      return report_problems({{.key = "exchange.tls", .line = 0, .what = tls.error()}}, path, json);
    }
  }
  const auto plan = plan_connections(config, machine_limits());
  if (json) {
    fmt::print("{{\"ok\":true,\"problems\":[],\"plan\":{}}}\n", plan_json(plan));
  } else {
    fmt::print("{}: good: {} dsps, {} house ads, {} workers\n{}", path, config.snapshot.dsps.size(),
               config.snapshot.house_ads.size(), config.workers, plan_text(plan));
  }
  return 0;
}

int serve(ExchangeConfig config, const std::string& path, bool json) {
  raise_file_limit();
  Service service(std::move(config), path);
  if (!service.error().empty()) {
    return complain("spillway exchange: " + service.error(), json, kFailed);
  }
  const bool clean = service.run([json](const std::string& listen, const std::string& admin) {
    print_started(listen, admin, json);
  });
  return clean ? 0 : kFailed;
}

int run(int argc, char** argv) {
  CLI::App app("Runs the ad exchange: OpenRTB 2.6 auctions among DSPs that always answer.",
               "spillway exchange");
  app.footer(
      "examples:\n"
      "  spillway exchange --config exchange.yaml\n"
      "  spillway exchange --config exchange.yaml --check-config\n"
      "  curl -d @request.json http://127.0.0.1:8080/openrtb2/auction\n"
      "  curl http://127.0.0.1:9901/metrics\n"
      "signals: SIGTERM and SIGINT stop after what is in flight, SIGHUP reloads.\n"
      "exit: 0 done, 1 a problem in the configuration or the run, 2 wrong usage.");
  std::string path;
  bool check = false;
  bool json = false;
  app.add_option("--config", path, "YAML file; docs/configuration.md has every key")->required();
  app.add_flag("--check-config", check,
               "Say everything that is wrong by key and line, print the connection plan, and end");
  app.add_flag("--json", json, "Print JSON");
  if (const auto status = parse_command_line(app, argc, argv)) {
    return *status;
  }
  const auto text = read_config_file(path);
  if (!text) {
    return report_problems({{.key = "", .line = 0, .what = text.error()}}, "spillway exchange",
                           json);
  }
  std::vector<ConfigProblem> problems;
  auto config = read_exchange_config(*text, problems);
  if (!problems.empty()) {
    return report_problems(problems, path, json);
  }
  return check ? check_config(config, path, json) : serve(std::move(config), path, json);
}

}  // namespace
}  // namespace spillway::app

int main(int argc, char** argv) {
  return spillway::app::run_program(spillway::app::run, argc, argv);
}
