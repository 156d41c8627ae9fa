#include "app/load/load_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "app/load/generator.h"
#include "base/time.h"
#include "net/reactor.h"
#include "workload/arrivals.h"
#include "workload/corpus.h"
#include "workload/rate_profile.h"
#include "workload/series.h"

namespace spillway::app {

namespace {

/// Threads are up by then, so that the first arrivals are not late.
constexpr base::Duration kRunUp = std::chrono::milliseconds(20);

}  // namespace

double RunSummary::achieved_ratio() const {
  return asked <= 0 ? 1 : static_cast<double>(tally.ended() + in_flight) / asked;
}

double RunSummary::rate_achieved() const {
  const double seconds = std::chrono::duration<double>(asked_time).count();
  return seconds <= 0 ? 0 : static_cast<double>(tally.ended() + in_flight) / seconds;
}

LoadRun::LoadRun(net::Reactor& home, LoadSettings settings, const workload::Corpus* corpus,
                 size_t workers)
    : home_(home), settings_(std::move(settings)) {
  LoadSettings each = settings_;
  each.connections = std::max<size_t>(1, settings_.connections / workers);
  for (size_t i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(
        clock_, each, corpus, workload::ArrivalStripe{.index = i, .of = workers}));
  }
}

LoadRun::~LoadRun() {
  for (const auto& worker : workers_) {
    worker->reactor.stop();
    if (worker->thread.joinable()) {
      worker->thread.join();
    }
  }
}

void LoadRun::start(std::move_only_function<void()> done) {
  done_ = std::move(done);
  started_at_ = home_.refresh() + kRunUp;
  for (const auto& worker : workers_) {
    worker->thread = std::thread([this, one = worker.get()] {
      one->reactor.refresh();
      one->generator.start(started_at_, [one] { one->reactor.stop(); });
      one->reactor.run();
      home_.post([this] { worker_ended(); });
    });
  }
}

void LoadRun::worker_ended() {
  ++ended_;
  if (!over()) {
    return;
  }
  ended_at_ = home_.refresh();
  for (const auto& worker : workers_) {
    worker->thread.join();
  }
  if (done_) {
    done_();
  }
}

void LoadRun::stop_early() {
  if (!std::exchange(stopped_, true)) {
    stopped_at_ = home_.refresh();
  }
  for (const auto& worker : workers_) {
    worker->reactor.post([one = worker.get()] { one->generator.stop_early(); });
  }
}

RunSummary LoadRun::summary() const {
  const base::Instant now = over() ? ended_at_ : home_.now();
  const base::Instant asked_until = stopped_ ? stopped_at_ : now;
  const bool whole = over() && !stopped_;
  const workload::RateProfile& profile = settings_.arrivals.profile;
  RunSummary made;
  made.elapsed = std::max(base::Duration{}, now - started_at_);
  made.duration = profile.duration();
  made.asked_time = whole ? made.duration
                          : std::clamp(asked_until - started_at_, base::Duration{}, made.duration);
  made.asked = profile.count_before(made.asked_time);
  made.rate = profile.mean_rate();
  made.workers = workers_.size();
  made.seed = settings_.seed;
  for (const auto& worker : workers_) {
    made.tally.merge(worker->generator.tally());
    made.in_flight += worker->generator.in_flight();
    made.connects += worker->generator.connects();
  }
  if (settings_.arrivals.poisson) {
    made.asked = static_cast<double>(made.tally.offered());  // what chance made due
  }
  if (over()) {
    made.series = workload::Series(started_at_, made.duration, settings_.late_after);
    for (const auto& worker : workers_) {
      made.series.merge(worker->generator.series());
    }
  }
  return made;
}

}  // namespace spillway::app
