#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/demo/child_process.h"
#include "app/scenario/cpu_quota.h"
#include "app/scenario/process_stats.h"
#include "app/scenario/record.h"
#include "app/scenario/scenario.h"

namespace spillway::app {

/// What came of a run before anything is judged.
enum class RunEnd : uint8_t {
  kRan,
  kInterrupted,  ///< By SIGINT or SIGTERM.
  kFailed,       ///< A program did not start, or ended.
  kUnfit,        ///< This machine cannot judge it: no control groups, no head-room, starved.
};

/// One run of a scenario: farm, exchange and load as processes of their own on free ports, with
/// configurations in a folder of its own; steps at their times; every counter read at each. Ends
/// and removes everything it made, by process id. One thread, which blocks SIGINT and SIGTERM.
class ScenarioRun {
 public:
  struct Settings {
    std::string programs;  ///< Folder of spillway-exchange, spillway-dsp and spillway-load.
    ScenarioVars vars;     ///< Above the scenario's own, for the exchange.
    bool faults = true;    ///< False: steps are marks only.
    /// Called a few times a second with a line of progress; may be empty.
    std::function<void(std::string_view line)> on_progress{};
  };

  ScenarioRun(const Scenario& scenario, Settings settings);
  ~ScenarioRun();
  ScenarioRun(const ScenarioRun&) = delete;
  ScenarioRun& operator=(const ScenarioRun&) = delete;

  [[nodiscard]] RunEnd run();

  /// Why it did not run to its end.
  [[nodiscard]] const std::string& why() const { return why_; }

  [[nodiscard]] const Record& record() const { return record_; }

  /// Share of a core that generator and farm used or waited for, 0 to 1.
  [[nodiscard]] double load_busy_ratio() const { return load_busy_; }

  [[nodiscard]] double farm_busy_ratio() const { return farm_busy_; }

 private:
  using Output = ChildProcess::Output;
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] RunEnd fail(std::string why, RunEnd end = RunEnd::kFailed);
  [[nodiscard]] RunEnd start_programs();

  /// A rate held for a while.
  struct Probe {
    RunEnd end = RunEnd::kRan;
    bool held = false;
    double auction_cpu_s = 0;
  };

  [[nodiscard]] Probe probe(double rate);
  [[nodiscard]] RunEnd find_capacity();
  [[nodiscard]] RunEnd drive();
  [[nodiscard]] RunEnd settle();
  [[nodiscard]] RunEnd check_fitness();

  [[nodiscard]] RunEnd wait_for(ChildProcess& child, const uint16_t& port);
  [[nodiscard]] RunEnd run_load(double rate, base::Duration duration,
                                const std::function<void()>& on_turn);
  [[nodiscard]] std::unique_ptr<ChildProcess> start(std::string_view program,
                                                    std::vector<std::string> args);
  [[nodiscard]] bool write_exchange_config(const ScenarioVars& more) const;
  /// Waits for output of any child; false after a signal.
  [[nodiscard]] bool turn(std::chrono::milliseconds most);
  void take_step(const ScenarioStep& step);
  void note_end();
  void look();
  [[nodiscard]] Snapshot snapshot();
  void on_line(ChildProcess& child, Output output, std::string_view line);
  void on_event(std::string_view line);
  void show();
  [[nodiscard]] double elapsed_s() const;

  const Scenario& scenario_;
  Settings settings_;
  Record record_;
  std::string why_;
  std::string folder_;
  int signal_fd_ = -1;
  ScenarioVars addresses_;
  ScenarioVars reloaded_;
  uint16_t farm_admin_ = 0;
  uint16_t exchange_port_ = 0;
  uint16_t exchange_admin_ = 0;
  Snapshot now_;
  size_t next_step_ = 0;
  Clock::time_point load_started_{};
  Clock::time_point stop_sent_{};
  bool stopped_ = false;  ///< The exchange was told to stop.
  double load_busy_ = 0, farm_busy_ = 0;
  std::string last_errors_;
  CpuQuota quota_;
  std::unique_ptr<StarvationWatch> starvation_;
  std::unique_ptr<ChildProcess> farm_;  // ended last
  std::unique_ptr<ChildProcess> exchange_;
  std::unique_ptr<ChildProcess> load_;  // ended first
};

}  // namespace spillway::app
