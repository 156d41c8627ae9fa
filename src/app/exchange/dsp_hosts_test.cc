#include "app/exchange/dsp_hosts.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/exchange/worker_hosts.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using resilience::Outcome;

/// The control thread is the test's own.
class DspHostsTest : public testing::Test {
 protected:
  EndpointHosts& endpoint(const resilience::Settings& guard = {}) {
    return all_.at("d/default/display", guard, clock_.now());
  }

  /// Runs what was posted to the control thread; once a test.
  void turn() {
    control_.post([this] { control_.stop(); });
    control_.run();
  }

  static std::vector<net::SocketAddress> addresses(const std::vector<std::string>& hosts) {
    std::vector<net::SocketAddress> out;
    out.reserve(hosts.size());
    for (const auto& host : hosts) {
      out.push_back(net::literal_address(host, 80).front());
    }
    return out;
  }

  /// Calls to one address, whatever would have been chosen.
  static void call(WorkerHosts& worker, size_t address, int count, Outcome outcome) {
    for (int i = 0; i < count; ++i) {
      worker.report(worker.begin(address), outcome, 20ms);
    }
  }

  net::OsClock clock_;
  net::Reactor control_{clock_};
  observe::Log log_{observe::Level::kError};
  DspHosts all_{control_, log_, 2, 7};
};

TEST_F(DspHostsTest, TheSetIsWhatSomeWorkerKnows) {
  EndpointHosts& hosts = endpoint();
  WorkerHosts first(all_, hosts, 0, 1);
  WorkerHosts second(all_, hosts, 1, 2);
  first.set_addresses(addresses({"10.0.0.1", "10.0.0.2"}));
  second.set_addresses(addresses({"10.0.0.2", "::1"}));
  turn();
  std::vector<std::string> shown;
  std::ranges::transform(hosts.list(clock_.now()), std::back_inserter(shown),
                         &observe::CircuitHost::address);
  EXPECT_EQ(shown, (std::vector<std::string>{"10.0.0.1:80", "10.0.0.2:80", "[::1]:80"}));
  EXPECT_EQ(all_.find("d/default/display"), &hosts);
  EXPECT_EQ(all_.find("e/default/display"), nullptr);
}

TEST_F(DspHostsTest, AWorkerThatLeavesTakesItsPartAlong) {
  EndpointHosts& hosts = endpoint();
  WorkerHosts first(all_, hosts, 0, 1);
  WorkerHosts second(all_, hosts, 1, 2);
  first.set_addresses(addresses({"10.0.0.1", "10.0.0.2"}));
  second.set_addresses(addresses({"10.0.0.2", "10.0.0.3"}));
  second.leave();
  turn();
  EXPECT_EQ(hosts.hosts.peek().hosts, 2U);
}

TEST_F(DspHostsTest, WhatOneWorkerSuffersTheOtherIsSpared) {
  EndpointHosts& hosts = endpoint();
  WorkerHosts first(all_, hosts, 0, 1);
  WorkerHosts second(all_, hosts, 1, 2);
  first.set_addresses(addresses({"10.0.0.1", "10.0.0.2"}));
  second.set_addresses(addresses({"10.0.0.2", "10.0.0.1"}));
  EXPECT_EQ(first.begin(0), 0U) << "not known yet: used, not judged";
  EXPECT_EQ(second.standing().usable & 0b11, 0b11U);
  turn();
  (void)first.standing();
  call(first, 0, 4, Outcome::kServerError);
  call(first, 1, 1, Outcome::kOk);
  hosts.tick(clock_.now(), log_);
  EXPECT_EQ(second.standing().usable & 0b11, 0b11U);
  call(first, 0, 1, Outcome::kServerError);
  hosts.tick(clock_.now(), log_);
  EXPECT_EQ(first.standing().usable & 0b11, 0b10U);
  EXPECT_EQ(second.standing().usable & 0b11, 0b01U) << "its own order of the same addresses";
  EXPECT_EQ(second.choose(0b01), 0U);
  const auto shown = hosts.list(clock_.now());
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_TRUE(shown[0].ejected);
  EXPECT_GT(shown[0].returns_in, base::Duration::zero());
  EXPECT_EQ(shown[0].server_errors, 5U);
  EXPECT_EQ(shown[1].good, 1U);
  EXPECT_EQ(shown[0].in_flight, 0U);
}

TEST_F(DspHostsTest, ConnectsThatFailEject) {
  EndpointHosts& hosts = endpoint();
  WorkerHosts worker(all_, hosts, 0, 1);
  worker.set_addresses(addresses({"10.0.0.1", "10.0.0.2"}));
  turn();
  (void)worker.standing();
  call(worker, 1, 1, Outcome::kOk);
  for (int i = 0; i < 5; ++i) {
    worker.connect_failed(0, base::CallError::kTimeout);
  }
  hosts.tick(clock_.now(), log_);
  EXPECT_EQ(worker.standing().usable & 0b11, 0b10U);
}

TEST_F(DspHostsTest, AGuardThatOnlyWatchesEjectsNobody) {
  EndpointHosts& hosts = endpoint({.enforcement = resilience::Settings::Enforcement::kShadow});
  WorkerHosts worker(all_, hosts, 0, 1);
  worker.set_addresses(addresses({"10.0.0.1", "10.0.0.2"}));
  turn();
  (void)worker.standing();
  call(worker, 1, 1, Outcome::kOk);
  call(worker, 0, 9, Outcome::kServerError);
  hosts.tick(clock_.now(), log_);
  EXPECT_EQ(hosts.hosts.peek().ejected, 0U);
  EXPECT_EQ(hosts.hosts.totals().kept.value(), 1U);
}

TEST_F(DspHostsTest, CallsAreDealtAmongTheAddressesAllowed) {
  EndpointHosts& hosts = endpoint();
  WorkerHosts worker(all_, hosts, 0, 1);
  worker.set_addresses(addresses({"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
  uint64_t early = 0;
  for (int i = 0; i < 200; ++i) {
    early |= uint64_t{1} << worker.choose(0b101);
  }
  EXPECT_EQ(early, 0b101U) << "before the hosts know them";
  turn();
  (void)worker.standing();
  std::vector<int> dealt(3);
  for (int i = 0; i < 300; ++i) {
    const size_t address = worker.choose(0b111);
    ++dealt[address];
    worker.report(worker.begin(address), Outcome::kOk, 5ms);
  }
  for (const int count : dealt) {
    EXPECT_GT(count, 50);
  }
}

}  // namespace
}  // namespace spillway::app
