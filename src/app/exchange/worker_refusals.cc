// What saying "no" costs a Worker, and what it does about it.
#include <chrono>
#include <cstdint>

#include "app/exchange/worker.h"
#include "base/time.h"
#include "net/server.h"
#include "resilience/refusal_brake.h"

namespace spillway::app {
namespace {

constexpr base::Duration kPeriod = std::chrono::milliseconds(20);

}  // namespace

void Worker::note_refusal() {
  if (server_ == nullptr || brakeman_.armed()) {
    return;
  }
  weighed_at_ = reactor_.now();
  refusing_ns_ = server_->counters(index_).refusing_ns.value();
  reactor_.timers().arm(brakeman_, weighed_at_ + kPeriod);
}

void Worker::weigh_refusals(base::Instant now) {
  const uint64_t spent_ns = server_->counters(index_).refusing_ns.value();
  brake_.on_period(now - weighed_at_,
                   base::Duration(static_cast<int64_t>(spent_ns - refusing_ns_)));
  weighed_at_ = now;
  refusing_ns_ = spent_ns;
  if (const auto pause = brake_.pause_of(kPeriod); pause > base::Duration::zero()) {
    server_->pause_reads(index_, now + pause);
  }
  if (!brake_.at_rest()) {
    reactor_.timers().arm(brakeman_, now + kPeriod);
  }
}

}  // namespace spillway::app
