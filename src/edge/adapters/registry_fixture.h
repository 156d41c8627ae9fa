#pragma once

// For tests only: registries on the test's own reactor.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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

  using Open = std::function<std::unique_ptr<Registry>()>;

  // What every kind keeps to. `open`: a registry of quick()'s service on this reactor.

  void members_come_stay_and_go(const Open& open) {
    auto a = open();
    auto b = open();
    auto reader = open();
    watch(*reader);
    a->announce(instance("a", 1, "z1", "big"));
    b->announce(instance("b", 2));
    ASSERT_TRUE(run_until([&] { return ids(*reader) == "a b"; })) << reader->last_error();
    EXPECT_TRUE(a->announced());
    EXPECT_EQ(reader->view().instances[0], instance("a", 1, "z1", "big"));
    EXPECT_GT(reader->view().index, 0U);
    // Kept alive beyond the TTL.
    ASSERT_TRUE(run_until([&] { return a->counters().renewals.value() >= 5; }));
    EXPECT_EQ(ids(*reader), "a b");
    a->withdraw();
    ASSERT_TRUE(run_until([&] { return a->withdrawn() && ids(*reader) == "b"; }));
  }

  void one_that_dies_leaves(const Open& open) {
    auto a = open();
    auto b = open();
    auto reader = open();
    watch(*reader);
    a->announce(instance("a", 1));
    b->announce(instance("b", 2));
    ASSERT_TRUE(run_until([&] { return ids(*reader) == "a b"; })) << reader->last_error();
    b.reset();
    ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  uint64_t changes_ = 0;
};

}  // namespace spillway::adapters::testing
