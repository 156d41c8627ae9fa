#include "app/exchange/event_forwarder.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/notice_config.h"
#include "base/time.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/test_kit.h"
#include "net/timer_wheel.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

/// The forwarder on the test's own thread; an instance that answers on another, one that hangs.
class EventForwarderTest : public testing::Test, private net::Timer {
 protected:
  EventForwarderTest() {
    config_.limits.timeout = 20ms;
    config_.limits.retry_for = 60s;
    std::vector<net::Server::Worker> workers;
    workers.push_back(
        {.reactor = thread_.reactor, .handler = [this](const net::Request&, net::Reply reply) {
           ++asked_;
           reply.send({.status = status_.load(), .headers = {}, .body = {}});
         }});
    server_ = std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
    server_->start();
    config_.instances["well"] = {.host = "127.0.0.1", .port = server_->port()};
    config_.instances["hung"] = {.host = "127.0.0.1", .port = hung_.port()};
    forwarder_.deploy(config_);
  }

  ~EventForwarderTest() override { server_.reset(); }

  void forward(const std::string& instance, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(forwarder_.forward(reactor_.refresh(), instance, "a=" + std::to_string(i)));
    }
  }

  bool run_until(const std::function<bool()>& done) {
    const auto end = reactor_.refresh() + 20s;
    while (!done() && reactor_.refresh() < end) {
      reactor_.timers().arm(*this, reactor_.now() + 1ms);
      reactor_.run();
    }
    cancel();
    return done();
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  const ForwardCounts& counts() { return forwarder_.counts(); }

  std::atomic<uint64_t> asked_{0};
  std::atomic<uint16_t> status_{204};
  net::testing::ReactorThread thread_;
  std::unique_ptr<net::Server> server_;
  net::testing::RawListener hung_;
  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  NoticeConfig config_;
  EventForwarder forwarder_{reactor_};
};

TEST_F(EventForwarderTest, AnInstanceThatHangsCostsNothingOnceItsCircuitIsOpen) {
  forward("hung", 500);
  ASSERT_TRUE(run_until([&] { return forwarder_.peers_open() == 1 && counts().held > 0; }));
  const uint64_t before = counts().calls;
  forward("hung", 500);
  forward("well", 200);
  ASSERT_TRUE(run_until([&] { return counts().sent == 200; }));
  EXPECT_EQ(asked_.load(), 200U);
  // All that is let through to it is a probe now and then.
  EXPECT_LE(counts().calls - before - 200, 16U);
  EXPECT_EQ(forwarder_.pending(), 1'000U);
  EXPECT_EQ(counts().failed + counts().dropped, 0U);
}

TEST_F(EventForwarderTest, WhatWaitedIsBroughtOnceTheInstanceIsWell) {
  status_ = 503;
  forward("well", 300);
  ASSERT_TRUE(run_until([&] { return forwarder_.peers_open() == 1; }));
  status_ = 204;
  ASSERT_TRUE(run_until([&] { return counts().sent == 300; }));
  EXPECT_TRUE(forwarder_.quiet());
}

TEST_F(EventForwarderTest, WhatWaitsForAnOpenCircuitExpires) {
  config_.limits.retry_for = 1s;
  forwarder_.deploy(config_);
  forward("hung", 200);
  ASSERT_TRUE(run_until([&] { return counts().failed == 200; }));
  EXPECT_TRUE(forwarder_.quiet());
}

TEST_F(EventForwarderTest, AnInstanceNobodyNamesAnyMoreGetsNothing) {
  forward("hung", 50);
  config_.instances.erase("hung");
  forwarder_.deploy(config_);
  ASSERT_TRUE(run_until([&] { return forwarder_.quiet(); }));
  EXPECT_EQ(counts().failed, 50U);
  EXPECT_FALSE(forwarder_.forward(reactor_.refresh(), "hung", "a=1"));
}

}  // namespace
}  // namespace spillway::app
