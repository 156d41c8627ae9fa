#pragma once

// For this room's tests only: a client on the test's own thread against a peer on another.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/test_kit.h"
#include "net/timer_wheel.h"

namespace spillway::net::testing {

using namespace std::chrono_literals;

inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct Answer {
  uint64_t tag;
  base::CallResult result;
  std::string body;
  bool draining;
  bool tail;
};

/// A client on the test's own thread; the peer is a script on another.
class ClientFixture : public ::testing::Test, public CallListener, private Timer {
 protected:
  explicit ClientFixture(ClientSettings settings = {}) : client_(reactor_, std::move(settings)) {}

  ~ClientFixture() override {
    for (TargetId target = 0; target < targets_; ++target) {
      client_.remove_target(target);  // so that the script's waits end
    }
    if (peer_.joinable()) {
      peer_.join();
    }
  }

  TargetId add(TargetSettings settings) {
    if (settings.host.empty()) {
      settings.host = "127.0.0.1";
      settings.port = listener_.port();
    }
    targets_ = client_.add_target(std::move(settings)) + 1;
    return targets_ - 1;
  }

  uint64_t call(TargetId target, uint64_t tag = 1, CallDeadlines deadlines = {}) {
    if (deadlines.answer_by == base::kNever) {
      deadlines.answer_by = reactor_.refresh() + 10s;
    }
    const std::vector<std::string_view> body{"request-", "body"};
    return client_.call(target, "POST", "/bid", "X-A: 1\r\n", body, deadlines, tag, *this);
  }

  void script(std::function<void()> script) { peer_ = std::thread(std::move(script)); }

  /// Runs until `count` more answers and tails came, 10 s at most.
  void run_until(size_t count) {
    wanted_ = answers_.size() + count;
    reactor_.timers().arm(*this, reactor_.refresh() + 10s);
    running_ = true;
    reactor_.run();
    running_ = false;
    cancel();
    EXPECT_GE(answers_.size(), wanted_) << "gave up waiting";
  }

  /// Runs the reactor until `condition` holds, 10 s at most.
  bool run_while_not(const std::function<bool()>& condition) {
    const auto end = reactor_.refresh() + 10s;
    while (!condition() && reactor_.refresh() < end) {
      reactor_.timers().arm(*this, reactor_.now() + 1ms);
      reactor_.run();
    }
    cancel();
    return condition();
  }

  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool draining) override {
    int padding = 0;
    for (size_t i = 0; i < kBodyPadding && !body.empty(); ++i) {
      padding |= body.data()[body.size() + i];
    }
    (void)padding;  // readable is what counts, under the address sanitizer
    answers_.push_back({tag, result, std::string(body), draining, false});
    if (when_answered_) {
      when_answered_();
    }
    stop_when_done();
  }

  void on_tail(uint64_t tag, const base::CallResult& result) override {
    answers_.push_back({tag, result, {}, false, true});
    stop_when_done();
  }

  void stop_when_done() {
    if (running_ && answers_.size() >= wanted_) {
      reactor_.stop();
    }
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  const Answer& last() { return answers_.back(); }

  OsClock clock_;
  Reactor reactor_{clock_};
  RawListener listener_;
  std::thread peer_;
  Client client_;
  std::vector<Answer> answers_;
  std::function<void()> when_answered_;
  size_t wanted_ = SIZE_MAX;
  bool running_ = false;
  TargetId targets_ = 0;
};

}  // namespace spillway::net::testing
