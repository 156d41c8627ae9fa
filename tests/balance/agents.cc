#include "balance/agents.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include "app/demo/child_process.h"
#include "app/demo/http_call.h"
#include "balance/farm.h"
#include "balance/haproxy.h"
#include "balance/sensor.h"

namespace spillway::balance {

namespace {

using namespace std::chrono_literals;

constexpr const char* kProgram = SPILLWAY_BINARY_DIR "/libexec/spillway-agent";

}  // namespace

Agents::Agents(const Farm& farm, AgentOptions options, std::filesystem::path folder,
               const ControlGroup& group)
    : farm_(farm), options_(std::move(options)), folder_(std::move(folder)), group_(group) {
  if (options_.law == "equal") {
    return;
  }
  all_.resize(farm.size());
  for (One& one : all_) {
    one.port = free_port();
    one.admin_port = free_port();
    one.peer_port = free_port();
  }
  if (options_.doubtful < farm.size()) {
    sensor_ = std::make_unique<Sensor>(farm[options_.doubtful]->group(), folder_ / "sensor");
    error_ = sensor_->error();
  }
  for (size_t i = 0; i + options_.absent < farm.size() && error_.empty(); ++i) {
    start(i);
  }
}

Agents::~Agents() {
  for (const One& one : all_) {
    if (one.process && one.process->pid() > 0 && !one.process->poll_exit()) {
      ::kill(one.process->pid(), SIGKILL);
    }
  }
}

uint16_t Agents::port(size_t backend) const {
  return backend < all_.size() ? all_[backend].port : 0;
}

std::string Agents::configuration(size_t backend) const {
  const Backend& server = *farm_[backend];
  const One& own = all_[backend];
  std::string text = fmt::format(
      "agent: {{id: {}, zone: {}, class: {}, listen: 127.0.0.1:{}, key: no-secret-of-a-test, "
      "log_level: warn}}\n"
      "admin: {{listen: 127.0.0.1:{}}}\n"
      "law: {{kind: {}, period: {}ms, gain: {}, setpoint: {}, ramp: {}ms, allow_unsafe_gain: "
      "true}}\n"
      "cpu: {{source: cgroup, cgroup: /{}{}}}\n"
      "load: {{url: \"http://127.0.0.1:{}/load\", timeout: 300ms}}\n"
      "drain: {{wait: 10s, announce: 1500ms}}\n",
      server.plan().name, server.plan().zone, server.server_class(), own.port, own.admin_port,
      options_.law, options_.period.count(), options_.gain, options_.setpoint,
      options_.ramp.count(), server.group().quota_folder().filename().string(),
      backend == options_.doubtful ? ", cgroup_root: " + sensor_->root().string() : "",
      server.admin_port());
  if (options_.redis_port != 0) {
    text += fmt::format(
        "redis: {{primary: 127.0.0.1:{}, samples: true}}\n"
        "registry: {{kind: redis, host: 127.0.0.1, port: {}, poll: 500ms}}\n",
        options_.redis_port, server.port());
  } else {
    text += fmt::format("peers:\n  listen: 127.0.0.1:{}\n  list:\n", own.peer_port);
    for (size_t i = 0; i < all_.size(); ++i) {
      text += i == backend ? "" : fmt::format("    - 127.0.0.1:{}\n", all_[i].peer_port);
    }
  }
  if (options_.imds_port != 0 && backend == 0) {
    text += fmt::format("spot: {{enabled: true, url: \"http://127.0.0.1:{}\", interval: 1s}}\n",
                        options_.imds_port);
  }
  return text;
}

void Agents::start(size_t backend) {
  const auto path = folder_ / fmt::format("agent-{}.yaml", backend);
  std::ofstream(path) << configuration(backend);
  One& one = all_[backend];
  one.started = false;
  one.process = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{
          .name = "agent", .program = kProgram, .args = {"--config", path.string()}},
      [this, &one](app::ChildProcess::Output, std::string_view line) {
        one.started = one.started || line.contains("event=started");
        said_ = line.substr(0, 400);
      });
  for (int i = 0; i < 500 && one.process->error().empty() && !one.started; ++i) {
    one.process->read_lines();
    if (one.process->poll_exit()) {
      break;
    }
    ::poll(nullptr, 0, 10);
  }
  if (!one.started) {
    error_ = fmt::format("the agent of {} did not start: {}{}", farm_[backend]->plan().name,
                         one.process->error(), said_);
    return;
  }
  (void)group_.take_in(one.process->pid());
}

void Agents::kill(size_t backend) {
  ::kill(all_[backend].process->pid(), SIGKILL);
  while (!ended(backend)) {
    ::poll(nullptr, 0, 5);
  }
}

bool Agents::ended(size_t backend) {
  if (!all_[backend].process) {
    return true;
  }
  all_[backend].process->read_lines();
  return all_[backend].process->poll_exit().has_value();
}

std::string Agents::ask(size_t backend, const std::string& target) const {
  return app::http_call(all_[backend].admin_port, "GET", target, "", 2s).value_or("");
}

double Agents::cpu_s(size_t backend) const {
  double ns = 0;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(
           fmt::format("/proc/{}/task", all_[backend].process->pid()), gone)) {
    double own_ns = 0;
    std::ifstream(thread.path() / "schedstat") >> own_ns;
    ns += own_ns;
  }
  return ns / 1e9;
}

long Agents::private_kib(size_t backend) const {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", all_[backend].process->pid()));
  long sum = 0;
  bool any = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Private_")) {
      sum += std::atol(line.c_str() + line.find(':') + 1);
      any = true;
    }
  }
  return any ? sum : -1;
}

}  // namespace spillway::balance
