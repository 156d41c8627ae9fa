// Client and server of this room against each other, over real sockets.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;

class Loopback : public ::testing::Test, public CallListener {
 protected:
  void serve(Handler handler, const ServerLimits& limits = {}) {
    std::vector<Server::Worker> workers;
    workers.push_back({.reactor = reactor_, .handler = std::move(handler)});
    server_ = std::make_unique<Server>("127.0.0.1:0", limits, std::move(workers));
    ASSERT_EQ(server_->error(), "");
    server_->start();
  }

  TargetId target(size_t max_connections) {
    TargetSettings settings;
    settings.name = "peer";
    settings.host = "127.0.0.1";
    settings.port = server_->port();
    settings.max_connections = max_connections;
    return client_.add_target(settings);
  }

  void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                 bool /*draining*/) override {
    ++answers_;
    if (result.error == base::CallError::kNone) {
      ++whole_;
      EXPECT_EQ(body, "echo:" + std::to_string(tag) + std::string(tag % 5000, 'x'));
    }
    next();
  }

  void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

  void next() {
    if (started_ < total_) {
      const uint64_t tag = started_++;
      const std::string number = std::to_string(tag);
      const std::string padding(tag % 5000, 'x');
      const std::vector<std::string_view> body{number, padding};
      client_.call(peer_, "POST", "/echo", "Content-Type: text/plain\r\n", body,
                   {.answer_by = reactor_.now() + 20s}, tag, *this);
    } else if (answers_ == total_) {
      reactor_.stop();
    }
  }

  OsClock clock_;
  Reactor reactor_{clock_};
  std::unique_ptr<Server> server_;
  Client client_{reactor_};
  TargetId peer_ = 0;
  uint64_t total_ = 0;
  uint64_t started_ = 0;
  uint64_t answers_ = 0;
  uint64_t whole_ = 0;
};

TEST_F(Loopback, ThousandsOfConcurrentCallsGetTheirOwnAnswers) {
  std::deque<std::pair<std::string, Reply>> late;
  serve([&](const Request& request, Reply reply) {
    EXPECT_EQ(request.path(), "/echo");
    Response response{.status = 200, .content_type = "text/plain", .headers = {}, .body = {}};
    response.body = "echo:" + std::string(request.body);
    if (late.size() < 7) {  // some answers overtake others
      late.emplace_back(std::move(response.body), std::move(reply));
      return;
    }
    reply.send(std::move(response));
    while (!late.empty()) {
      response = {.status = 200, .content_type = {}, .headers = {}, .body = {}};
      response.body = std::move(late.back().first);
      late.back().second.send(std::move(response));
      late.pop_back();
    }
  });
  peer_ = target(32);
  total_ = 8000;  // a multiple of the server's batch of 8
  reactor_.post([&] {
    for (int i = 0; i < 32; ++i) {
      next();
    }
  });
  reactor_.run();
  EXPECT_EQ(answers_, total_);
  EXPECT_EQ(whole_, total_);
  EXPECT_LE(client_.counters(peer_).connects.value(), 32U);
  EXPECT_GE(client_.counters(peer_).reused.value(), total_ - 64);
  EXPECT_EQ(server_->counters(0).answers.value(), total_);
}

}  // namespace
}  // namespace spillway::net
