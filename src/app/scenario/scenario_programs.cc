// The programs of a run: starting them, reading what they say and count.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>

#include "app/demo/child_process.h"
#include "app/demo/demo_state.h"
#include "app/demo/http_call.h"
#include "app/scenario/process_stats.h"
#include "app/scenario/record.h"
#include "app/scenario/scenario.h"
#include "app/scenario/scenario_run.h"

namespace spillway::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kStartPatience = 20s;
constexpr auto kScrapeTimeout = 2s;
constexpr size_t kErrorsKept = 2000;

// On a shared machine the programs are asked to go before others, where that is permitted: what is
// measured is them, not the neighbours.
constexpr int kNice = -10;

// Waiting for a processor longer than this between two looks excuses a missed deadline.
constexpr auto kStarved = 40ms;

}  // namespace

std::unique_ptr<ChildProcess> ScenarioRun::start(std::string_view program,
                                                 std::vector<std::string> args) {
  auto holder = std::make_shared<ChildProcess*>(nullptr);
  auto child = std::make_unique<ChildProcess>(
      ChildProcess::Command{.name = std::string(program),
                            .program = fmt::format("{}/spillway-{}", settings_.programs, program),
                            .args = std::move(args),
                            .niceness = kNice},
      [this, holder](Output output, std::string_view line) { on_line(**holder, output, line); });
  *holder = child.get();
  return child;
}

bool ScenarioRun::write_exchange_config(const ScenarioVars& more) const {
  ScenarioVars vars = more;
  vars.insert(settings_.vars.begin(), settings_.vars.end());
  std::ofstream file(folder_ + "/exchange.yaml", std::ios::trunc);
  file << scenario_.exchange_text(vars, addresses_);
  file.close();
  return static_cast<bool>(file);
}

RunEnd ScenarioRun::start_programs() {
  folder_ = (std::filesystem::temp_directory_path() / "spillway-scenario-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) {
    return fail(std::exchange(folder_, "") + ": " + std::generic_category().message(errno));
  }
  std::ofstream(folder_ + "/farm.yaml") << scenario_.farm;
  farm_ = start("dsp", {"--config", folder_ + "/farm.yaml"});
  if (const RunEnd end = wait_for(*farm_, farm_admin_); end != RunEnd::kRan) {
    return end;
  }
  if (!write_exchange_config({})) {
    return fail(folder_ + "/exchange.yaml: cannot be written");
  }
  exchange_ = start("exchange", {"--config", folder_ + "/exchange.yaml"});
  if (const RunEnd end = wait_for(*exchange_, exchange_admin_); end != RunEnd::kRan) {
    return end;
  }
  starvation_ = std::make_unique<StarvationWatch>(exchange_->pid());
  (void)starvation_->longest_wait();
  if (scenario_.quota_cores > 0) {
    const std::string problem = quota_.apply(scenario_.quota_cores, exchange_->pid());
    if (!problem.empty()) {
      return fail("no CPU quota can be given here: " + problem, RunEnd::kUnfit);
    }
  }
  return RunEnd::kRan;
}

RunEnd ScenarioRun::wait_for(ChildProcess& child, const uint16_t& port) {
  const auto until = Clock::now() + kStartPatience;
  while (child.error().empty() && port == 0) {
    if (!turn(100ms)) {
      return fail("interrupted", RunEnd::kInterrupted);
    }
    if (const auto status = child.poll_exit()) {
      child.read_lines();
      return fail(fmt::format("{} ended at once with status {}", child.name(), *status));
    }
    if (Clock::now() > until) {
      return fail(child.name() + " did not start in time");
    }
  }
  return child.error().empty() ? RunEnd::kRan : fail(child.error());
}

bool ScenarioRun::turn(std::chrono::milliseconds most) {
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
  note_end();
  return (fds[0].revents & POLLIN) == 0;
}

/// Whether the exchange has ended, and when, once it was told to.
void ScenarioRun::note_end() {
  if (exchange_ == nullptr || !stopped_ || record_.stop_s >= 0) {
    return;
  }
  if (const auto status = exchange_->poll_exit()) {
    record_.exit_status = *status;
    record_.stop_s = std::chrono::duration<double>(Clock::now() - stop_sent_).count();
  }
}

/// Reads every counter; what cannot be read stays as it was.
void ScenarioRun::look() {
  if (const auto page = http_call(farm_admin_, "GET", "/metrics", "", kScrapeTimeout)) {
    now_.farm = parse_metrics(*page);
  }
  now_.farm_cpu = cpu_of(farm_->pid());
  if (exchange_->poll_exit()) {
    return;
  }
  const double misses = sum_of(now_.exchange, "spillway_exchange_deadline_misses_total");
  if (const auto page = http_call(exchange_admin_, "GET", "/metrics", "", kScrapeTimeout)) {
    now_.exchange = parse_metrics(*page);
  }
  now_.exchange_cpu = cpu_of(exchange_->pid());
  now_.resident_bytes = resident_of(exchange_->pid());
  const double more = sum_of(now_.exchange, "spillway_exchange_deadline_misses_total") - misses;
  const bool starved = starvation_->longest_wait() > kStarved;
  if (starved && scenario_.quota_cores == 0) {
    now_.excused_misses += more;
  }
}

void ScenarioRun::on_line(ChildProcess& child, Output output, std::string_view line) {
  if (output == Output::kStderr) {
    if (&child == exchange_.get()) {
      on_event(line);
    }
    if (&child != load_.get()) {
      last_errors_ += std::string(line) + "\n";
      last_errors_.erase(0, last_errors_.size() - std::min(last_errors_.size(), kErrorsKept));
    }
    return;
  }
  if (child.name() == "load") {
    Metrics numbers = parse_numbers(line);
    now_.load = numbers.contains("offered") ? std::move(numbers) : now_.load;
  } else if (field_of(line, "event") == "started" && child.name() == "exchange") {
    exchange_port_ = port_of(field_of(line, "listen"));
    exchange_admin_ = port_of(field_of(line, "admin"));
  } else if (field_of(line, "event") == "started") {
    const std::string admin = field_of(line, "admin");
    farm_admin_ = admin.empty() ? farm_admin_ : port_of(admin);
    if (admin.empty()) {
      addresses_[field_of(line, "dsp")] = field_of(line, "listen");
    }
  }
}

void ScenarioRun::on_event(std::string_view line) {
  const std::string event = field_of(line, "event");
  if (record_.changes.size() >= Record::kChanges) {
    return;
  }
  const std::string key = field_of(line, "key");
  const std::string dsp = key.substr(0, key.find('/'));
  if (event == "circuit_transition" && field_of(line, "from") != field_of(line, "to")) {
    record_.changes.push_back(
        {.at_s = elapsed_s(),
         .dsp = dsp,
         .to = field_of(line, "to"),
         .why =
             fmt::format("rule {}, {} bad of {}: {}", field_of(line, "rule"), field_of(line, "bad"),
                         field_of(line, "calls"), field_of(line, "reason"))});
  } else if (event == "dsp_alert") {
    record_.changes.push_back({.at_s = elapsed_s(), .dsp = dsp, .to = field_of(line, "state")});
  }
}

}  // namespace spillway::app
