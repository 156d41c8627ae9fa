#include "app/scenario/scenario_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
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

#include "app/config/units.h"
#include "app/demo/child_process.h"
#include "app/demo/http_call.h"
#include "app/scenario/process_stats.h"
#include "app/scenario/record.h"
#include "app/scenario/scenario.h"
#include "base/time.h"

namespace spillway::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kStopPatience = 20s;
constexpr auto kScrapeTimeout = 2s;
constexpr auto kLookEvery = 300ms;
constexpr auto kSettlePatience = 5s;

// Capacity: at most this is shed, and no more than so many rates are tried, each so much higher.
constexpr double kShedMost = 0.001;
constexpr double kGuessRatio = 0.8;
constexpr std::array kCapacitySteps{1.5, 1.3, 1.2, 1.15, 1.15, 1.15, 1.15, 1.15};

// What generator and farm may use of a core so that they could do twice as much.
constexpr double kBusyMost = 0.5;

// A request sent later than this after it was due is late.
constexpr const char* kLateAfter = "25ms";

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ScenarioRun::ScenarioRun(const Scenario& scenario, Settings settings)
    : scenario_(scenario), settings_(std::move(settings)) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal_fd_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  record_.prices = scenario.prices;
}

ScenarioRun::~ScenarioRun() {
  load_.reset();
  exchange_.reset();
  farm_.reset();
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ::close(signal_fd_);
}

RunEnd ScenarioRun::run() {
  for (const auto step : {&ScenarioRun::start_programs, &ScenarioRun::find_capacity,
                          &ScenarioRun::drive, &ScenarioRun::settle, &ScenarioRun::check_fitness}) {
    if (const RunEnd end = (this->*step)(); end != RunEnd::kRan) {
      return end;
    }
  }
  return RunEnd::kRan;
}

RunEnd ScenarioRun::fail(std::string why, RunEnd end) {
  why_ = std::move(why);
  if (!last_errors_.empty() && end == RunEnd::kFailed) {
    why_ += "\n" + last_errors_;
  }
  return end;
}

/// Starts the load and turns until it has ended.
RunEnd ScenarioRun::run_load(double rate, base::Duration duration,
                             const std::function<void()>& on_turn) {
  std::vector<std::string> args{
      "--target",      fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange_port_),
      "--rate",        fmt::format("{}", rate),
      "--duration",    fmt::format("{}", duration_text(duration)),
      "--connections", fmt::format("{}", scenario_.load.connections),
      "--timeout",     fmt::format("{}", duration_text(scenario_.load.timeout)),
      "--late-after",  kLateAfter,
      "--json",        "--every",
      "250ms"};
  if (scenario_.load.poisson) {
    args.emplace_back("--poisson");
  }
  now_.load.clear();
  load_started_ = Clock::now();
  load_ = start("load", std::move(args));
  if (!load_->error().empty()) {
    return fail(load_->error());
  }
  while (!load_->poll_exit()) {
    if (!turn(20ms)) {
      return fail("interrupted", RunEnd::kInterrupted);
    }
    on_turn();
    if (farm_->poll_exit()) {
      return fail("the farm has ended in the middle of the run");
    }
    if (exchange_->poll_exit() && !stopped_) {
      return fail("the exchange has ended in the middle of the run");
    }
    now_.load_cpu = load_->poll_exit() ? now_.load_cpu : cpu_of(load_->pid());
  }
  load_->read_lines();
  if (now_.load.empty()) {
    // 2: it has refused a rate that it cannot carry here.
    return load_->poll_exit() == 2
               ? fail(fmt::format("the generator cannot carry {:.0f}/s here", rate), RunEnd::kUnfit)
               : fail("the load has ended without a report");
  }
  return RunEnd::kRan;
}

/// One step of the search: a rate held for a while.
ScenarioRun::Probe ScenarioRun::probe(double rate) {
  if (settings_.on_progress) {
    settings_.on_progress(fmt::format("measuring capacity: {:.0f}/s", rate));
  }
  look();
  const Snapshot before = now_;
  Probe probe{.end = run_load(rate, scenario_.load.capacity_hold, [] {})};
  if (probe.end != RunEnd::kRan) {
    return probe;
  }
  look();
  const auto grown = [&](std::string_view name) {
    return sum_of(now_.exchange, name) - sum_of(before.exchange, name);
  };
  const double auctions = grown("spillway_exchange_auctions_total");
  const double cpu_s = now_.exchange_cpu.ran_s - before.exchange_cpu.ran_s;
  probe.auction_cpu_s = auctions > 0 ? cpu_s / auctions : 0;
  probe.held = auctions > 0 && grown("spillway_exchange_shed_total") < kShedMost * auctions &&
               grown("spillway_exchange_deadline_misses_total") == 0;
  return probe;
}

/// The highest rate held with no deadline missed and hardly anything shed: first a guess from what
/// an auction costs, then upwards in steps until one is not held.
RunEnd ScenarioRun::find_capacity() {
  if (scenario_.load.times_capacity == 0) {
    return RunEnd::kRan;
  }
  double rate = scenario_.load.rate;
  for (const double step : kCapacitySteps) {
    // Again when it was not held: what the machine does meanwhile must not decide.
    Probe found = probe(rate);
    if (found.end == RunEnd::kRan && !found.held) {
      found = probe(rate);
    }
    if (found.end != RunEnd::kRan) {
      return found.end;
    }
    if (!found.held) {
      break;
    }
    record_.capacity_rate = rate;
    record_.auction_cpu_s = found.auction_cpu_s;
    const double guess = kGuessRatio * scenario_.quota_cores / found.auction_cpu_s;
    rate = std::max(step * rate, guess);
  }
  record_.times_capacity = scenario_.load.times_capacity;
  return record_.capacity_rate > 0
             ? RunEnd::kRan
             : fail(fmt::format("not even {:g}/s could be held at this quota", rate),
                    RunEnd::kUnfit);
}

RunEnd ScenarioRun::drive() {
  const double rate = record_.capacity_rate > 0 ? record_.capacity_rate * record_.times_capacity
                                                : scenario_.load.rate;
  load_started_ = Clock::now();
  look();
  record_.snapshots["start"] = snapshot();
  record_.snapshots["start"].load_cpu = {};
  auto next_look = Clock::now();
  const RunEnd end = run_load(rate, scenario_.load.duration, [&] {
    while (next_step_ < scenario_.steps.size() &&
           elapsed_s() >= seconds_of(scenario_.steps[next_step_].at)) {
      take_step(scenario_.steps[next_step_++]);
    }
    if (Clock::now() >= next_look) {
      look();
      show();
      next_look = Clock::now() + kLookEvery;
    }
  });
  while (end == RunEnd::kRan && next_step_ < scenario_.steps.size()) {
    take_step(scenario_.steps[next_step_++]);
  }
  return end;
}

void ScenarioRun::take_step(const ScenarioStep& step) {
  look();
  record_.snapshots[step.name] = snapshot();
  if (!settings_.faults) {
    return;
  }
  const auto post = [&](std::string_view path, std::string_view body) {
    return http_call(farm_admin_, "POST", fmt::format("/admin/{}?dsp={}", path, step.dsp), body,
                     kScrapeTimeout)
        .has_value();
  };
  bool done = true;
  switch (step.kind) {
    case ScenarioStep::Kind::kMark:
      break;
    case ScenarioStep::Kind::kFault:
      done = post("fault", step.fault);
      break;
    case ScenarioStep::Kind::kClear:
      done = post("clear", "");
      break;
    case ScenarioStep::Kind::kSignal:
      if (step.signal == SIGTERM) {
        stopped_ = true;
        stop_sent_ = Clock::now();
      }
      ::kill(exchange_->pid(), step.signal);
      break;
    case ScenarioStep::Kind::kReload:
      for (const auto& [name, value] : step.vars) {
        reloaded_[name] = value;
      }
      done = write_exchange_config(reloaded_);
      ::kill(exchange_->pid(), SIGHUP);
      break;
  }
  if (!done) {
    last_errors_ += fmt::format("step {} could not be done\n", step.name);
  }
}

/// Until nothing is in flight and the counters stand still, so that they may be compared to the
/// call; then the exchange is stopped.
RunEnd ScenarioRun::settle() {
  const auto until = Clock::now() + kSettlePatience;
  double last = -1;
  while (!stopped_ && Clock::now() < until) {
    look();
    const double counted =
        sum_of(now_.exchange, "spillway_exchange_client_events_total", {"event=\"request_sent\""}) +
        sum_of(now_.farm, "spillway_farm_calls_total");
    const bool idle = sum_of(now_.exchange, "spillway_exchange_in_flight_auctions") == 0 &&
                      sum_of(now_.exchange, "spillway_exchange_open_calls") == 0;
    if (counted == last && idle) {
      break;
    }
    last = counted;
    if (!turn(kLookEvery)) {
      return fail("interrupted", RunEnd::kInterrupted);
    }
  }
  record_.snapshots["end"] = snapshot();
  if (!stopped_) {
    stopped_ = true;
    stop_sent_ = Clock::now();
    ::kill(exchange_->pid(), SIGTERM);
  }
  const auto stop_by = Clock::now() + kStopPatience;
  while (!exchange_->poll_exit() && Clock::now() < stop_by) {
    if (!turn(10ms)) {
      return fail("interrupted", RunEnd::kInterrupted);
    }
    look();
  }
  note_end();
  return RunEnd::kRan;
}

RunEnd ScenarioRun::check_fitness() {
  const auto& start = record_.snapshots.at("start");
  const auto& end = record_.snapshots.at("end");
  const double seconds = seconds_of(scenario_.load.duration);
  const auto busy = [&](const CpuUse& before, const CpuUse& after) {
    return (after.ran_s - before.ran_s + after.waited_s - before.waited_s) / seconds;
  };
  load_busy_ = busy({}, end.load_cpu);
  farm_busy_ = busy(start.farm_cpu, end.farm_cpu);
  const double late = value_of(end.load, "late") / std::max(1.0, value_of(end.load, "offered"));
  if (late > scenario_.load.late_ratio) {
    return fail(fmt::format("the generator sent {:.1f} % of its requests late: this machine is too "
                            "busy",
                            100 * late),
                RunEnd::kUnfit);
  }
  if (scenario_.quota_cores > 0 && std::max(load_busy_, farm_busy_) > kBusyMost) {
    return fail(fmt::format("generator and farm must be able to do twice as much: they used or "
                            "waited for {:.0f} % and {:.0f} % of a processor",
                            100 * load_busy_, 100 * farm_busy_),
                RunEnd::kUnfit);
  }
  return RunEnd::kRan;
}

Snapshot ScenarioRun::snapshot() {
  now_.at_s = elapsed_s();
  return now_;
}

void ScenarioRun::show() {
  if (!settings_.on_progress) {
    return;
  }
  constexpr size_t kWidth = 30;
  const double done = std::clamp(elapsed_s() / seconds_of(scenario_.load.duration), 0.0, 1.0);
  const auto filled = static_cast<size_t>(done * kWidth);
  settings_.on_progress(
      fmt::format("[{}{}] {:3.0f} %  {}  {:.0f}/s  p99 {:.0f} ms  circuits changed {}",
                  std::string(filled, '#'), std::string(kWidth - filled, '.'), 100 * done,
                  next_step_ == 0 ? "start" : scenario_.steps[next_step_ - 1].name,
                  value_of(now_.load, "rate_achieved"), value_of(now_.load, "latency_ms.p99"),
                  record_.changes.size()));
}

double ScenarioRun::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - load_started_).count();
}

}  // namespace spillway::app
