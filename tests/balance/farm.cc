#include "balance/farm.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "app/demo/child_process.h"
#include "app/demo/http_call.h"
#include "balance/control_group.h"
#include "balance/work.h"

namespace spillway::balance {

namespace {

using namespace std::chrono_literals;

/// What the server itself costs a request, about.
constexpr double kServerUs = 40;

double thread_cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// How much burn() does in a microsecond of this processor: the best of several, as neighbours only
/// slow it down.
double iterations_per_us() {
  static const double speed = [] {
    double best = 0;
    constexpr uint64_t kIterations = 2'000'000;
    for (int i = 0; i < 8; ++i) {
      const double before = thread_cpu_us();
      const volatile uint64_t used = burn(kIterations);
      (void)used;
      best = std::max(best, static_cast<double>(kIterations) / (thread_cpu_us() - before));
    }
    return best;
  }();
  return speed;
}

uint16_t port_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  uint16_t port = 0;
  if (at != std::string_view::npos) {
    const auto text = line.substr(at + key.size());
    std::from_chars(text.data(), text.data() + text.size(), port);
  }
  return port;
}

}  // namespace

std::vector<BackendPlan> five_unlike() {
  return {{.name = "b1", .cores = 0.08, .work_us = 250},
          {.name = "b2", .cores = 0.16, .work_us = 500},
          {.name = "b3", .cores = 0.16, .work_us = 380},
          {.name = "b4", .cores = 0.32, .work_us = 500},
          {.name = "b5", .cores = 0.32, .work_us = 380}};
}

std::vector<BackendPlan> five_and_a_newcomer() {
  auto plans = five_unlike();
  plans[2].server_class = "middle";
  plans.push_back(plans[2]);
  plans.back().name = "b6";
  return plans;
}

std::vector<BackendPlan> three_zones() {
  return {{.name = "a1", .cores = 0.10, .work_us = 300, .zone = "a"},
          {.name = "a2", .cores = 0.24, .work_us = 400, .zone = "a"},
          {.name = "b1", .cores = 0.10, .work_us = 500, .zone = "b"},
          {.name = "b2", .cores = 0.22, .work_us = 300, .zone = "b"},
          {.name = "c1", .cores = 0.08, .work_us = 300, .zone = "c"},
          {.name = "c2", .cores = 0.32, .work_us = 500, .zone = "c"}};
}

Backend::Backend(BackendPlan plan)
    : plan_(std::move(plan)), group_(plan_.name, plan_.cores, kPeriod), error_(group_.error()) {
  if (error_.empty()) {
    start();
  }
}

void Backend::start() {
  const auto iterations = static_cast<uint64_t>(plan_.work_us * iterations_per_us());
  process_ = std::make_unique<app::ChildProcess>(
      app::ChildProcess::Command{.name = plan_.name,
                                 .program = SPILLWAY_BINARY_DIR "/tests/balance/balance_backend",
                                 .args = {"--iterations", std::to_string(iterations)}},
      [this](app::ChildProcess::Output, std::string_view line) {
        port_ = port_after(line, "listen=");
        admin_port_ = port_after(line, "admin=");
      });
  for (int i = 0; i < 500 && process_->error().empty() && admin_port_ == 0; ++i) {
    process_->read_lines();
    ::poll(nullptr, 0, 10);
  }
  if (admin_port_ == 0) {
    error_ = fmt::format("{} did not start: {}", plan_.name, process_->error());
  } else if (!group_.take_in(process_->pid())) {
    error_ = fmt::format("{} refuses a process", group_.quota_folder().string());
  }
}

bool Backend::fail_fast(bool failing) const {
  return app::http_call(admin_port_, "POST", failing ? "/mode?fail" : "/mode?ok", "", 2s)
      .has_value();
}

void Backend::kill() { ::kill(pid(), SIGKILL); }

Farm start_farm(const std::vector<BackendPlan>& plans, std::string& why) {
  Farm farm;
  for (const BackendPlan& plan : plans) {
    farm.push_back(std::make_unique<Backend>(plan));
    if (!farm.back()->error().empty()) {
      why = farm.back()->error();
    }
  }
  return farm;
}

std::string missing_here() {
  if (::access("/usr/sbin/haproxy", X_OK) != 0) {
    return "there is no /usr/sbin/haproxy";
  }
  if (::access(SPILLWAY_BINARY_DIR "/libexec/spillway-agent", X_OK) != 0) {
    return "spillway-agent is not built";
  }
  return ControlGroup("probe", 0.1, Backend::kPeriod).error();
}

double capacity_of(const std::vector<BackendPlan>& plans) {
  double rate = 0;
  for (const BackendPlan& plan : plans) {
    rate += plan.cores * 1e6 / (plan.work_us + kServerUs);
  }
  return rate;
}

}  // namespace spillway::balance
