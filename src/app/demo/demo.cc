#include "app/demo/demo.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/demo/child_process.h"
#include "app/demo/demo_plan.h"
#include "app/demo/demo_report.h"
#include "app/demo/demo_state.h"
#include "app/demo/http_call.h"

namespace spillway::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 10s;
constexpr auto kScrapeTimeout = 1s;
constexpr size_t kErrorsKept = 2000;

// In the field partners and callers are other machines: here they give way to the exchange.
constexpr int kExchangeNice = -10;
constexpr int kPartnersNice = 5;

}  // namespace

Demo::Demo(DemoPlan plan, std::string programs, DemoView view)
    : plan_(std::move(plan)), programs_(std::move(programs)), view_(view) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal_fd_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

Demo::~Demo() {
  load_.reset();
  exchange_.reset();
  farm_.reset();
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  if (view_ == DemoView::kScreen) {
    fmt::print("\033[?7h\033[?25h");
    std::fflush(stdout);
  }
  ::close(signal_fd_);
}

std::string Demo::run() {
  std::string folder = (std::filesystem::temp_directory_path() / "spillway-demo-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return folder + ": " + std::generic_category().message(errno);
  }
  folder_ = folder;
  for (const auto step :
       {&Demo::start_farm, &Demo::start_exchange, &Demo::start_load, &Demo::watch}) {
    std::string problem = (this->*step)();
    if (!problem.empty()) {
      return last_errors_.empty() ? problem : problem + "\n" + last_errors_;
    }
  }
  return "";
}

std::string Demo::write_file(std::string_view name, std::string_view text, std::string& path) {
  path = folder_ + "/" + std::string(name);
  std::ofstream file(path);
  file << text;
  file.flush();
  return file ? "" : path + ": cannot be written";
}

std::string Demo::start_farm() {
  std::string path;
  std::string problem = write_file("farm.yaml", DemoPlan::farm_yaml(), path);
  if (!problem.empty()) {
    return problem;
  }
  farm_ = std::make_unique<ChildProcess>(
      ChildProcess::Command{.name = "farm",
                            .program = programs_ + "/spillway-dsp",
                            .args = {"--config", path},
                            .niceness = kPartnersNice},
      [this](Output output, std::string_view line) { on_farm_line(output, line); });
  return wait_for_start(*farm_, farm_started_);
}

std::string Demo::start_exchange() {
  std::string path;
  std::string problem = write_file("exchange.yaml", plan_.exchange_yaml(dsps_), path);
  if (!problem.empty()) {
    return problem;
  }
  exchange_ = std::make_unique<ChildProcess>(
      ChildProcess::Command{.name = "exchange",
                            .program = programs_ + "/spillway-exchange",
                            .args = {"--config", path},
                            .niceness = kExchangeNice},
      [this](Output output, std::string_view line) { on_exchange_line(output, line); });
  return wait_for_start(*exchange_, exchange_started_);
}

std::string Demo::start_load() {
  load_ = std::make_unique<ChildProcess>(
      ChildProcess::Command{
          .name = "load",
          .program = programs_ + "/spillway-load",
          .args = {"--target", fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange_port_),
                   "--rate", fmt::format("{}", plan_.rate), "--duration",
                   fmt::format("{}s", plan_.seconds), "--connections", "512", "--timeout", "1s",
                   "--json", "--every", "500ms"},
          .niceness = kPartnersNice},
      [this](Output output, std::string_view line) { on_load_line(output, line); });
  load_started_ = std::chrono::steady_clock::now();
  return load_->error();
}

std::string Demo::wait_for_start(ChildProcess& child, const bool& started) {
  const auto until = std::chrono::steady_clock::now() + kStartPatience;
  while (child.error().empty() && !started) {
    if (!wait_for_output(100ms)) {
      return "interrupted";
    }
    if (const auto status = child.poll_exit()) {
      child.read_lines();
      return fmt::format("{} ended at once with status {}", child.name(), *status);
    }
    if (std::chrono::steady_clock::now() > until) {
      return fmt::format("{} did not start in time", child.name());
    }
  }
  return child.error();
}

std::string Demo::watch() {
  auto next_look = std::chrono::steady_clock::now();
  if (view_ == DemoView::kScreen) {
    fmt::print("\033[2J\033[?25l\033[?7l");
  }
  while (!load_ended_) {
    if (!wait_for_output(50ms)) {
      return "interrupted";
    }
    change_fault();
    if (exchange_->poll_exit() || farm_->poll_exit()) {
      return fmt::format("{} has ended in the middle of the run",
                         exchange_->poll_exit() ? "exchange" : "farm");
    }
    load_ended_ = load_->poll_exit().has_value();
    if (std::chrono::steady_clock::now() >= next_look) {
      look();
      show();
      next_look = std::chrono::steady_clock::now() + 300ms;
    }
  }
  load_->read_lines();
  look();
  last_line_s_ = -100;
  show();
  farm_json_ = http_call(farm_admin_port_, "GET", "/admin/dsps", "", kScrapeTimeout).value_or("");
  return "";
}

/// Waits for output of any child; false after a signal.
bool Demo::wait_for_output(std::chrono::milliseconds most) {
  std::vector<pollfd> fds{{.fd = signal_fd_, .events = POLLIN, .revents = 0}};
  const std::vector<ChildProcess*> children{farm_.get(), exchange_.get(), load_.get()};
  for (const ChildProcess* child : children) {
    if (child != nullptr) {
      fds.push_back({.fd = child->fd(Output::kStdout), .events = POLLIN, .revents = 0});
      fds.push_back({.fd = child->fd(Output::kStderr), .events = POLLIN, .revents = 0});
    }
  }
  ::poll(fds.data(), fds.size(), static_cast<int>(most.count()));
  for (ChildProcess* child : children) {
    if (child != nullptr) {
      child->read_lines();
    }
  }
  return (fds[0].revents & POLLIN) == 0;
}

void Demo::change_fault() {
  const double now = elapsed_s();
  if (!slow_announced_ && now >= plan_.slow_from()) {
    slow_announced_ = true;
    const bool done = http_call(farm_admin_port_, "POST", "/admin/fault?dsp=" + plan_.slow_dsp,
                                plan_.fault_json(), kScrapeTimeout)
                          .has_value();
    state_.events.push_back({.at_s = now,
                             .key = "",
                             .from = "",
                             .to = "",
                             .rule = "",
                             .text = fmt::format("{} {} (median 600 ms)", plan_.slow_dsp,
                                                 done ? "turns slow" : "could not be made slow")});
  }
  if (!recovery_announced_ && now >= plan_.slow_to()) {
    recovery_announced_ = true;
    state_.events.push_back({.at_s = now,
                             .key = "",
                             .from = "",
                             .to = "",
                             .rule = "",
                             .text = plan_.slow_dsp + " is fast again"});
  }
}

void Demo::look() {
  state_.now_s = std::min(elapsed_s(), static_cast<double>(plan_.seconds));
  const auto circuits =
      http_call(exchange_admin_port_, "GET", "/admin/circuits", "", kScrapeTimeout);
  if (circuits) {
    state_.on_circuits(*circuits);
  }
  const auto metrics = http_call(exchange_admin_port_, "GET", "/metrics", "", kScrapeTimeout);
  if (metrics) {
    state_.on_metrics(*metrics);
  }
}

void Demo::show() {
  if (view_ == DemoView::kLines) {
    if (state_.now_s - last_line_s_ >= 2) {
      last_line_s_ = state_.now_s;
      fmt::print(stderr, "{}\n", progress_text(plan_, state_));
    }
    return;
  }
  std::string frame = "\033[H";
  for (const char c : screen_text(plan_, state_)) {
    frame += c == '\n' ? "\033[K\n" : std::string(1, c);
  }
  fmt::print("{}\033[J", frame);
  std::fflush(stdout);
}

double Demo::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - load_started_).count();
}

void Demo::keep_last(std::string& tail, std::string_view line) const {
  tail += std::string(line) + "\n";
  if (tail.size() > kErrorsKept) {
    tail.erase(0, tail.size() - kErrorsKept);
  }
}

void Demo::on_farm_line(Output output, std::string_view line) {
  if (output == Output::kStderr) {
    keep_last(last_errors_, line);
    return;
  }
  if (field_of(line, "event") != "started") {
    return;
  }
  if (const std::string admin = field_of(line, "admin"); !admin.empty()) {
    farm_admin_port_ = port_of(admin);
    farm_started_ = true;
  } else {
    dsps_.push_back({.name = field_of(line, "dsp"), .listen = field_of(line, "listen")});
  }
}

void Demo::on_exchange_line(Output output, std::string_view line) {
  if (output == Output::kStderr) {
    if (load_ == nullptr) {
      keep_last(last_errors_, line);
    } else {
      state_.on_log_line(elapsed_s(), line);
    }
    return;
  }
  if (field_of(line, "event") == "started") {
    exchange_port_ = port_of(field_of(line, "listen"));
    exchange_admin_port_ = port_of(field_of(line, "admin"));
    exchange_started_ = true;
    last_errors_.clear();
  }
}

void Demo::on_load_line(Output output, std::string_view line) {
  if (output == Output::kStdout) {
    state_.on_load_line(line);
  }
}

}  // namespace spillway::app
