// The end of a Service, and its proof of life.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <signal.h>

#include "app/exchange/service.h"
#include "app/serving/server_metrics.h"
#include "base/time.h"
#include "observe/log.h"

namespace spillway::app {

void Service::on_signal(int number) {
  if (number == SIGHUP) {
    (void)reload();
  } else if (!closing_.begun()) {
    begin_stop();
  } else {
    control_.stop();
  }
}

void Service::begin_stop() {
  ready_ = false;
  closing_.begin(*server_, log_, supervisor_, clock_.now(), config_->drain_announce,
                 config_->stop_timeout);
  go_on_stopping(clock_.now());
}

void Service::go_on_stopping(base::Instant now) {
  closing_.tick(*server_, log_, now);
  if (!closing_.listener_closed()) {
    return;
  }
  // Without callers and calls nothing is added any more: the notices that are left have their time.
  if (notices_by_ == base::kNever && has_served()) {
    notices_by_ = now + config_->notices.stop_timeout;
  }
  const bool told = notices_by_ != base::kNever &&
                    ((notices_.quiet() && notices_.pending() == 0) || now >= notices_by_);
  if (told || closing_.is_over(now)) {
    control_.stop();
  }
}

// Connections first: without any no request can begin an auction, and without auctions no notice.
bool Service::has_served() const {
  return server_->drained() && std::ranges::all_of(workers_, [](const auto& worker) {
           return worker->stats().in_flight.value() == 0 && worker->stats().calls_open.value() == 0;
         });
}

// Called when the workers have ended: nothing moves any more. What is left is cut off with us.
void Service::end_stop() {
  uint64_t auctions = 0;
  uint64_t calls = 0;
  for (const auto& worker : workers_) {
    auctions += worker->stats().in_flight.value();
    calls += worker->stats().calls_open.value();
  }
  const uint64_t requests = sum_of(*server_, [](auto& c) -> auto& { return c.requests; });
  const uint64_t answers = sum_of(*server_, [](auto& c) -> auto& { return c.answers; });
  const size_t notices = notices_.abandon();
  clean_ = auctions == 0 && calls == 0;
  log_.event(clean_ && notices == 0 ? observe::Level::kInfo : observe::Level::kWarn,
             "event=stopped clean={} requests={} answers={} cut_connections={} cut_auctions={} "
             "cut_calls={} notices_lost={}",
             clean_, requests, answers, server_->open_connections(), auctions, calls, notices);
}

}  // namespace spillway::app
