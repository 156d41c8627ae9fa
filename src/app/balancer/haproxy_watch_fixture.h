#pragma once

// For this part's tests only: rounds against a real HAProxy, one after the other.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "adapters/haproxy_fixture.h"
#include "adapters/registry.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/change.h"
#include "app/balancer/fleet.h"
#include "app/balancer/haproxy_watch.h"
#include "app/balancer/membership.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "observe/log.h"

namespace spillway::app::balancing::testing {

using adapters::testing::HaproxyProcess;
using adapters::testing::Speaker;

inline constexpr const char* kListen = "\nlisten ex\n    bind FRONT\n    balance roundrobin\n";

class HaproxyWatchTest : public ::testing::Test {
 protected:
  HaproxyWatchTest() {
    config_.backend = "ex";
    config_.watchdog.dead_after = std::chrono::milliseconds(300);
    config_.membership.check_inter = std::chrono::milliseconds(100);
    config_.membership.agent_inter = std::chrono::milliseconds(100);
    config_.command_timeout = std::chrono::seconds(20);
  }

  void watch(const HaproxyProcess& haproxy, const std::string& state_file = {}) {
    watch_ = std::make_unique<HaproxyWatch>(
        reactor_, HaproxyPlace{.name = "h", .socket = haproxy.socket(), .state_file = state_file},
        config_, fleet_, log_, true);
  }

  bool round() {
    bool good = false;
    EXPECT_TRUE(watch_->round([&](bool ok) {
      good = ok;
      reactor_.stop();
    }));
    reactor_.run();
    return good;
  }

  bool rounds_until(const std::function<bool()>& condition) {
    return adapters::testing::eventually([&] {
      round();
      return condition();
    });
  }

  static adapters::RegistryInstance member(const std::string& id, uint16_t port,
                                           uint16_t agent_port) {
    return {.id = id, .host = "127.0.0.1", .port = port, .agent_port = agent_port};
  }

  [[nodiscard]] uint64_t changes(ChangeKind kind) const {
    return watch_->counters().changes.at(static_cast<size_t>(kind)).value();
  }

  [[nodiscard]] uint64_t declined(Declined why) const {
    return watch_->counters().declined.at(static_cast<size_t>(why)).value();
  }

  static std::string server(const std::string& name, const Speaker& backend, const Speaker& agent) {
    return fmt::format(
        "    server {} 127.0.0.1:{} weight 100 check inter 100ms agent-check agent-inter 100ms "
        "agent-send \"x\\n\" agent-port {}\n",
        name, backend.port(), agent.port());
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  net::UniqueFd null_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  observe::Log log_{observe::Level::kError, null_.fd(), 64};
  BalancerConfig config_;
  Fleet fleet_;
  std::unique_ptr<HaproxyWatch> watch_;
};

}  // namespace spillway::app::balancing::testing
