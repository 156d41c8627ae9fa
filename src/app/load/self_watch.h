#pragma once

#include "base/time.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "workload/series.h"

namespace spillway::app {

/// Looks at its own thread while a load runs: how late a timer fires, and the share of a processor
/// it takes. Writes both into the series, which marks the intervals in which we were the
/// bottleneck. 100 wakes a second.
class SelfWatch final : private net::Timer {
 public:
  SelfWatch(net::Reactor& reactor, workload::Series& series) : reactor_(reactor), series_(series) {}

  void start();

  void stop() { cancel(); }

 private:
  void on_timer(base::Instant now) override;

  net::Reactor& reactor_;
  workload::Series& series_;
  base::Instant since_{};
  base::Duration cpu_{};  ///< Of this thread at `since_`.
};

}  // namespace spillway::app
