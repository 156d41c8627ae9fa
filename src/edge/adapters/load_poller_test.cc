#include "adapters/load_poller.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/load_text.h"
#include "base/result.h"
#include "base/time.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;

class LoadPolling : public ::testing::Test, private net::Timer {
 protected:
  LoadPolling() {
    std::vector<net::Server::Worker> workers;
    workers.push_back(
        {.reactor = reactor_, .handler = [this](const net::Request&, net::Reply reply) {
           if (holds_) {
             held_.push_back(std::move(reply));
           } else {
             reply.send({.body = R"({"successes":7,"p95_ms":3})"});
           }
         }});
    server_ = std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
    server_->start();
  }

  void poll(base::Duration timeout, bool judged_when_asked) {
    poller_ = std::make_unique<LoadPoller>(
        reactor_,
        LoadSettings{.port = server_->port(),
                     .timeout = timeout,
                     .judged_when_asked = judged_when_asked,
                     .page = {}},
        [this](const base::Result<LoadCounts, LoadErrc>& told) { told_.push_back(told); });
  }

  bool run_until(const std::function<bool()>& condition) {
    const auto end = reactor_.refresh() + 10s;
    while (!condition() && reactor_.refresh() < end) {
      turn();
    }
    return condition();
  }

  void turn() {
    reactor_.timers().arm(*this, reactor_.refresh() + 1ms);
    reactor_.run();
    cancel();
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  std::unique_ptr<net::Server> server_;
  std::vector<net::Reply> held_;
  bool holds_ = false;
  std::unique_ptr<LoadPoller> poller_;
  std::vector<base::Result<LoadCounts, LoadErrc>> told_;
};

TEST_F(LoadPolling, TellsWhatItWasAnsweredEachTime) {
  poll(5s, true);
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(poller_->ask(reactor_.refresh()));
    EXPECT_FALSE(poller_->ask(reactor_.now()));
    ASSERT_TRUE(run_until([&] { return told_.size() == i; }));
    ASSERT_TRUE(told_.back());
    EXPECT_EQ(told_.back()->successes, 7);
    EXPECT_EQ(told_.back()->p95_ms, 3);
  }
}

TEST_F(LoadPolling, AnOverdueAnswerIsGivenUpWhenTheNextIsAskedFor) {
  holds_ = true;
  poll(20ms, true);
  const auto asked_at = reactor_.refresh();
  EXPECT_TRUE(poller_->ask(asked_at));
  ASSERT_TRUE(run_until([&] { return held_.size() == 1 && reactor_.now() > asked_at + 40ms; }));
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(poller_->ask(reactor_.refresh()));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].error(), LoadErrc::kTimeout);
  ASSERT_TRUE(run_until([&] { return held_.size() == 2; }));
}

TEST_F(LoadPolling, AnAnswerThatComesLateIsATimeout) {
  holds_ = true;
  poll(20ms, true);
  const auto asked_at = reactor_.refresh();
  EXPECT_TRUE(poller_->ask(asked_at));
  ASSERT_TRUE(run_until([&] { return held_.size() == 1 && reactor_.now() > asked_at + 40ms; }));
  held_.front().send({.body = R"({"successes":7})"});
  ASSERT_TRUE(run_until([&] { return told_.size() == 1; }));
  EXPECT_EQ(told_[0].error(), LoadErrc::kTimeout);
}

TEST_F(LoadPolling, ByItsTimerAnOverdueAnswerEndsInTime) {
  holds_ = true;
  poll(20ms, false);
  EXPECT_TRUE(poller_->ask(reactor_.refresh()));
  ASSERT_TRUE(run_until([&] { return told_.size() == 1; }));
  EXPECT_EQ(told_[0].error(), LoadErrc::kTimeout);
}

TEST_F(LoadPolling, NobodyThereIsUnreachable) {
  poll(5s, true);
  server_.reset();
  EXPECT_TRUE(poller_->ask(reactor_.refresh()));
  ASSERT_TRUE(run_until([&] { return told_.size() == 1; }));
  EXPECT_EQ(told_[0].error(), LoadErrc::kUnreachable);
}

}  // namespace
}  // namespace spillway::adapters
