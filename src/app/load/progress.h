#pragma once

#include <optional>

#include "app/load/load_run.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"

namespace spillway::app {

/// Shows how far a run is: a bar on a terminal, or one line of JSON at each interval, or nothing
/// where nobody looks.
class Progress final : private net::Timer {
 public:
  /// With `json_every` lines of JSON go to stdout; otherwise the bar to stderr.
  Progress(net::Reactor& reactor, const LoadRun& run, std::optional<base::Duration> json_every);

  /// Takes the bar away.
  void end();

 private:
  void on_timer(base::Instant now) override;

  net::Reactor& reactor_;
  const LoadRun& run_;
  bool json_;
  base::Duration every_;
};

}  // namespace spillway::app
