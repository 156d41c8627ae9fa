#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/command_line.h"
#include "app/config/complaint.h"
#include "app/config/config_file.h"
#include "app/config/reader.h"
#include "app/dsp/farm.h"
#include "app/dsp/farm_config.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/signals.h"

namespace {

using spillway::app::complain;
using spillway::app::Farm;
using spillway::app::FarmConfig;

constexpr int kFailed = 1;

constexpr const char* kExamples = R"(Examples:
  spillway dsp --config farm.yaml
  spillway dsp --config farm.yaml --check-config
  curl -X POST 'http://127.0.0.1:ADMIN/admin/fault?dsp=alpha' \
       -d '{"kind": "slow", "for": "20s", "added": "300ms"}'
  curl 'http://127.0.0.1:ADMIN/admin/dsps'

farm.yaml:
  admin: { listen: 127.0.0.1:9951 }
  dsps:
    - name: alpha
      listen: 127.0.0.1:9101
      latency: { kind: lognormal, median: 20ms, sigma: 0.4 }
      bid_rate: 0.6
      price: { kind: uniform, low: 0.5, high: 4 }
      faults:
        - { kind: hang, from: 40s, to: 60s }
docs/load_and_farm.md has every key and every fault.)";

void announce(const Farm& farm, uint16_t admin_port, bool json) {
  for (const auto& dsp : farm.dsps()) {
    if (json) {
      fmt::print(R"({{"event":"started","dsp":"{}","listen":"{}"}})", dsp->name(), dsp->address());
    } else {
      fmt::print("event=started dsp={} listen={}", dsp->name(), dsp->address());
    }
    fmt::print("\n");
  }
  if (json) {
    fmt::print(R"({{"event":"started","admin":"127.0.0.1:{}"}})", admin_port);
  } else {
    fmt::print("event=started admin=127.0.0.1:{}", admin_port);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int serve(const FarmConfig& config, bool json) {
  const spillway::net::OsClock clock;
  spillway::net::Reactor reactor(clock);
  const spillway::net::SignalSource signals(reactor, {SIGINT, SIGTERM},
                                            [&reactor](int) { reactor.stop(); });
  Farm farm(reactor, config, clock.now());
  if (!farm.error().empty()) {
    return complain("spillway dsp: " + farm.error(), json, kFailed);
  }
  std::vector<spillway::net::Server::Worker> workers;
  workers.push_back(
      {.reactor = reactor,
       .handler = [&farm](const spillway::net::Request& request, spillway::net::Reply reply) {
         reply.send(farm.answer(request));
       }});
  spillway::net::Server admin(config.admin_listen, {}, std::move(workers));
  if (!admin.error().empty()) {
    return complain("spillway dsp: " + admin.error(), json, kFailed);
  }
  admin.start();
  announce(farm, admin.port(), json);
  reactor.run();
  fmt::print(stderr, "event=stopped\n");
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("A farm of fake DSPs that misbehave on order.", "spillway dsp");
  app.footer(kExamples);
  std::string path;
  bool check = false;
  bool json = false;
  app.add_option("--config", path, "The farm's YAML file")->required();
  app.add_flag("--check-config", check, "Say everything that is wrong with the file, and end");
  app.add_flag("--json", json, "Print where each DSP listens as JSON lines");
  if (const auto status = spillway::app::parse_command_line(app, argc, argv)) {
    return *status;
  }
  const auto text = spillway::app::read_config_file(path);
  if (!text) {
    return complain(text.error(), json, kFailed);
  }
  std::vector<spillway::app::ConfigProblem> problems;
  const FarmConfig config = spillway::app::read_farm_config(*text, problems);
  if (!problems.empty()) {
    return spillway::app::report_problems(problems, path, json);
  }
  if (check) {
    if (json) {
      fmt::print("{{\"ok\":true,\"problems\":[]}}\n");
    } else {
      fmt::print("{}: sound, {} DSPs\n", path, config.dsps.size());
    }
    return 0;
  }
  return serve(config, json);
}

}  // namespace

int main(int argc, char** argv) { return spillway::app::run_program(run, argc, argv); }
