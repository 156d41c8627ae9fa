#pragma once

// For tests only: registries on the test's own reactor.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "adapters/registry.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"

namespace spillway::adapters::testing {

inline RegistryInstance instance(std::string id, uint16_t port, std::string zone = {},
                                 std::string server_class = {}) {
  return {.id = std::move(id),
          .host = "10.0.0.1",
          .port = port,
          .agent_port = 9100,
          .zone = std::move(zone),
          .server_class = std::move(server_class)};
}

/// Quick enough for a test, slow enough for a busy machine.
inline RegistrySettings quick() {
  using namespace std::chrono_literals;
  return {.service = "ex",
          .ttl = 2s,
          .poll = 100ms,
          .timeout = 2s,
          .confirm_reads = 4,
          .confirm_after = 1h};
}

class RegistryTest : public ::testing::Test, public RegistryListener, private net::Timer {
 protected:
  void watch(Registry& registry) { registry.watch(*this); }

  void on_registry(const RegistryView& /*view*/) override { ++changes_; }

  /// Runs the reactor until `condition` holds, `limit` at most.
  bool run_until(const std::function<bool()>& condition,
                 base::Duration limit = std::chrono::seconds(20)) {
    const base::Instant end = reactor_.refresh() + limit;
    bool holds = condition();
    while (!holds && reactor_.refresh() < end) {
      reactor_.timers().arm(*this, reactor_.now() + std::chrono::milliseconds(1));
      reactor_.run();
      holds = condition();
    }
    cancel();
    return holds;
  }

  static std::string ids(const Registry& registry) {
    std::string all;
    for (const RegistryInstance& one : registry.view().instances) {
      all += (all.empty() ? "" : " ") + one.id;
    }
    return all;
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  uint64_t changes_ = 0;
};

}  // namespace spillway::adapters::testing
