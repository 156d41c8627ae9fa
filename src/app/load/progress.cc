#include "app/load/progress.h"

#include <chrono>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "app/load/load_run.h"
#include "app/load/report.h"
#include "base/time.h"
#include "net/reactor.h"

namespace spillway::app {

Progress::Progress(net::Reactor& reactor, const LoadRun& run,
                   std::optional<base::Duration> json_every)
    : reactor_(reactor),
      run_(run),
      json_(json_every.has_value()),
      every_(json_every.value_or(std::chrono::milliseconds(250))) {
  if (json_ || ::isatty(STDERR_FILENO) != 0) {
    reactor_.timers().arm(*this, reactor_.refresh() + every_);
  }
}

void Progress::end() {
  if (!json_ && armed()) {
    fmt::print(stderr, "\r\033[K");
  }
  cancel();
}

void Progress::on_timer(base::Instant now) {
  if (json_) {
    fmt::print("{}\n", report_json(run_.summary()));
    std::fflush(stdout);
  } else {
    fmt::print(stderr, "\r{}\033[K", progress_line(run_.summary()));
  }
  reactor_.timers().arm(*this, now + every_);
}

}  // namespace spillway::app
