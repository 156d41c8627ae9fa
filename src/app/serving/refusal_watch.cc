#include "app/serving/refusal_watch.h"

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace spillway::app {
namespace {

constexpr base::Duration kPeriod = std::chrono::milliseconds(20);

}  // namespace

void RefusalWatch::note() {
  if (server_ == nullptr || armed()) {
    return;
  }
  weighed_at_ = reactor_.now();
  refusing_ns_ = server_->counters(worker_).refusing_ns.value();
  reactor_.timers().arm(*this, weighed_at_ + kPeriod);
}

void RefusalWatch::on_timer(base::Instant now) {
  const uint64_t spent_ns = server_->counters(worker_).refusing_ns.value();
  brake_.on_period(now - weighed_at_,
                   base::Duration(static_cast<int64_t>(spent_ns - refusing_ns_)));
  weighed_at_ = now;
  refusing_ns_ = spent_ns;
  if (const auto pause = brake_.pause_of(kPeriod); pause > base::Duration::zero()) {
    server_->pause_reads(worker_, now + pause);
  }
  if (!brake_.at_rest()) {
    reactor_.timers().arm(*this, now + kPeriod);
  }
}

}  // namespace spillway::app
