#include "balance/companions.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include "app/demo/child_process.h"
#include "app/demo/http_call.h"
#include "balance/control_group.h"
#include "balance/haproxy.h"

namespace spillway::balance {

namespace {

using namespace std::chrono_literals;

constexpr int kTries = 500;  ///< Of 10 ms.

}  // namespace

RedisProcess::RedisProcess() : port_(free_port()) { start(); }

void RedisProcess::start() {
  ready_ = false;
  process_ = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = "redis",
                                 .program = "/usr/bin/redis-server",
                                 .args = {"--port", std::to_string(port_), "--bind", "127.0.0.1",
                                          "--save", "", "--appendonly", "no"}},
      [this](app::ChildProcess::Output, std::string_view line) {
        ready_ = ready_ || line.contains("Ready to accept");
      });
  for (int i = 0; i < kTries && process_->error().empty() && !ready_; ++i) {
    process_->read_lines();
    ::poll(nullptr, 0, 10);
  }
  if (!ready_) {
    error_ = "redis-server did not start: " + process_->error();
  }
}

void RedisProcess::kill() {
  ::kill(process_->pid(), SIGKILL);
  process_->end(0ms);
}

BalancerProcess::BalancerProcess(const std::filesystem::path& folder, const Settings& settings,
                                 const ControlGroup& group)
    : admin_port_(free_port()) {
  std::string text = fmt::format(
      "balancer: {{backend: farm, interval: 500ms, log_level: warn{}}}\n"
      "admin: {{listen: 127.0.0.1:{}}}\nhaproxies:\n",
      settings.zone.empty() ? "" : ", zone: " + settings.zone, admin_port_);
  for (const auto& [name, socket] : settings.haproxies) {
    text += fmt::format("  - {{name: {}, socket: {}}}\n", name, socket);
  }
  if (settings.redis_port != 0) {
    text += fmt::format(
        "registry: {{kind: redis, poll: 500ms, redis: {{primary: \"127.0.0.1:{}\"}}}}\n",
        settings.redis_port);
  }
  const auto path = folder / "balancer.yaml";
  std::ofstream(path) << text;
  bool started = false;
  process_ = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = "balancer",
                                 .program = SPILLWAY_BINARY_DIR "/libexec/spillway-balancer",
                                 .args = {"--config", path.string()}},
      [this](app::ChildProcess::Output, std::string_view line) {
        if (!line.empty()) {
          said_ = line.substr(0, 400);
        }
      });
  for (int i = 0; i < kTries && process_->error().empty() && !started; ++i) {
    process_->read_lines();
    if (process_->poll_exit()) {
      break;
    }
    started = !ask("/healthz").empty();
    ::poll(nullptr, 0, 10);
  }
  if (!started) {
    error_ = "the balancer did not start: " + process_->error() + said_;
    return;
  }
  (void)group.take_in(process_->pid());
}

std::string BalancerProcess::ask(const std::string& target) const {
  return app::http_call(admin_port_, "GET", target, "", 1s).value_or("");
}

}  // namespace spillway::balance
