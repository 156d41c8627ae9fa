#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/load/generator.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/series.h"
#include "workload/tally.h"

namespace spillway::app {

/// What a run has done so far, or did: what every report is made of.
struct RunSummary {
  workload::Tally tally{base::Duration{}};
  workload::Series series{{}, {}, {}};  ///< Filled when the run is over.
  base::Duration elapsed{};             ///< Since the start; until the last answer.
  base::Duration duration{};            ///< Of the schedule.
  base::Duration asked_time{};          ///< How much of it has passed.
  double asked = 0;                     ///< Arrivals it has had due by now.
  double rate = 0;                      ///< Mean of the schedule, a second.
  uint64_t in_flight = 0;
  uint64_t connects = 0;
  size_t workers = 1;
  uint64_t seed = 0;

  /// Answered or under way, of what was due by now.
  [[nodiscard]] double achieved_ratio() const;
  [[nodiscard]] double rate_achieved() const;  ///< A second of the schedule.

  [[nodiscard]] double error_ratio() const { return tally.error_ratio(); }
};

/// A schedule driven by one or more threads, each with a generator of its own: worker k of n takes
/// arrivals k, k + n, ... so that together they are the schedule of one. The connection cap is
/// shared out evenly.
///
/// Everything on the thread of `home`; the workers' threads end in the destructor at the latest.
class LoadRun {
 public:
  /// `settings.connections` counts for all workers together. `corpus` as Generator has it.
  LoadRun(net::Reactor& home, LoadSettings settings, const workload::Corpus* corpus,
          size_t workers);
  ~LoadRun();
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;

  /// `done` is called once, on home's thread, when every request has ended.
  void start(std::move_only_function<void()> done);

  void stop_early();

  [[nodiscard]] bool over() const { return ended_ == workers_.size(); }

  /// The series is in it once the run is over.
  [[nodiscard]] RunSummary summary() const;

 private:
  struct Worker {
    Worker(const net::OsClock& clock, const LoadSettings& settings, const workload::Corpus* corpus,
           workload::ArrivalStripe stripe)
        : reactor(clock), generator(reactor, settings, corpus, stripe) {}

    net::Reactor reactor;
    Generator generator;
    std::thread thread;
  };

  void worker_ended();

  net::OsClock clock_;
  net::Reactor& home_;
  LoadSettings settings_;
  std::vector<std::unique_ptr<Worker>> workers_;
  size_t ended_ = 0;
  base::Instant started_at_{};
  base::Instant ended_at_{};
  bool stopped_ = false;
  base::Instant stopped_at_{};
  std::move_only_function<void()> done_;
};

}  // namespace spillway::app
