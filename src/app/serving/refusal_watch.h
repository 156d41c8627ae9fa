#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/timer_wheel.h"
#include "resilience/refusal_brake.h"

namespace spillway::app {

/// What saying "no" costs one worker of a server, and what is done about it: its reads pause while
/// refusing takes more of its time than the brake allows. Looks only while anything is refused.
/// Thread rule: the worker's, but watch().
class RefusalWatch final : private net::Timer {
 public:
  explicit RefusalWatch(net::Reactor& reactor) : reactor_(reactor) {}

  /// Before the worker's thread begins; `server` outlives it.
  void watch(net::Server& server, size_t worker) {
    server_ = &server;
    worker_ = worker;
  }

  void set(const resilience::BrakeSettings& settings) { brake_.set(settings); }

  /// A request was refused.
  void note();

 private:
  void on_timer(base::Instant now) override;

  net::Reactor& reactor_;
  net::Server* server_ = nullptr;
  size_t worker_ = 0;
  resilience::RefusalBrake brake_;
  base::Instant weighed_at_{};
  uint64_t refusing_ns_ = 0;  ///< As of weighed_at_.
};

}  // namespace spillway::app
