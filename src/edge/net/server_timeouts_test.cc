#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/server.h"
#include "net/server_fixture.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using testing::RawSocket;
using testing::ReactorThread;
using testing::status_of;
using testing::statuses_in;
using ServerTimeoutsTest = testing::ServerFixture;

TEST_F(ServerTimeoutsTest, SlowCallersAreTimedOut) {
  start({.header_timeout = 30ms, .body_timeout = 30ms, .idle_timeout = 30ms});
  RawSocket slow_header = RawSocket::to(server_->port());
  slow_header.send("GET / HT");
  EXPECT_EQ(status_of(slow_header.receive_all()), "408");
  RawSocket slow_body = RawSocket::to(server_->port());
  slow_body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(status_of(slow_body.receive_all()), "408");
  EXPECT_EQ(counters().timeouts.value(), 2U);
  RawSocket idle = RawSocket::to(server_->port());
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_FALSE(idle.timed_out());
  RawSocket after_one = RawSocket::to(server_->port());
  after_one.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(statuses_in(after_one.receive_all()), "200");
  EXPECT_FALSE(after_one.timed_out());
}

TEST_F(ServerTimeoutsTest, ACallerThatDoesNotReadIsTimedOut) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send(
        {.status = 200, .content_type = {}, .headers = {}, .body = std::string(64 << 20, 'z')});
  };
  start({.write_timeout = 50ms});
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(eventually(
      [&] { return server_->open_connections() == 0 && counters().timeouts.value() == 1; }));
}

TEST_F(ServerTimeoutsTest, LargeAnswersAreFinishedWhenTheCallerReadsThem) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send(
        {.status = 200, .content_type = {}, .headers = {}, .body = std::string(20 << 20, 'z')});
  };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send(
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_GT(socket.receive_all().size(), size_t{40 << 20});
}

TEST_F(ServerTimeoutsTest, AnswersAfterTheirDeadlineAreCounted) {
  custom_ = [&](const Request& request, Reply& reply) {
    reply.set_deadline(request.path() == "/late" ? request.time_zero - 1ms
                                                 : request.time_zero + 1h);
    EXPECT_LE(request.time_zero + request.queue_age, request.read_at);
    EXPECT_GE(request.queue_age, 0ns);
  };
  start();
  EXPECT_EQ(status_of(exchange("GET /late HTTP/1.1\r\nHost: a\r\n\r\n")), "200");
  EXPECT_EQ(status_of(exchange("GET /early HTTP/1.1\r\nHost: a\r\n\r\n")), "200");
  EXPECT_EQ(counters().deadline_misses.value(), 1U);
}

TEST_F(ServerTimeoutsTest, QueueAgeIsTheTimeBytesWaitedForTheThread) {
  std::atomic<int64_t> age_ns{-1};
  custom_ = [&](const Request& request, Reply&) { age_ns = request.queue_age.count(); };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.receive_message();
  std::promise<void> sent;
  threads_.front()->reactor.post([&] {  // a handler that holds the thread for 20 ms
    socket.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto until = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < until) {
    }
    sent.set_value();
  });
  sent.get_future().wait();
  socket.receive_message();
  EXPECT_GE(age_ns.load(), 19'000'000);
}

}  // namespace
}  // namespace spillway::net
