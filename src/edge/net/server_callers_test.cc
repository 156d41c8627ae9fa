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
using ServerCallersTest = testing::ServerFixture;

TEST_F(ServerCallersTest, AHalfClosedCallerStillGetsItsAnswer) {
  std::atomic<int> gone{0};
  custom_ = [&](const Request&, Reply& reply) { reply.on_gone([&] { ++gone; }); };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.shut_write();
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  on_worker([&] {});
  on_worker(
      [&] { held_.front().send({.status = 201, .content_type = {}, .headers = {}, .body = {}}); });
  EXPECT_EQ(statuses_in(socket.receive_all()), "201");
  EXPECT_EQ(gone.load(), 0);
}

TEST_F(ServerCallersTest, AResetCallerIsReportedOnceAndItsRequestStaysReadable) {
  std::atomic<int> gone{0};
  std::string_view kept;
  custom_ = [&](const Request& request, Reply& reply) {
    kept = request.body;
    reply.on_gone([&] { ++gone; });
  };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  socket.reset_connection();
  EXPECT_TRUE(eventually([&] { return gone.load() == 1; }));
  on_worker([&] {
    EXPECT_EQ(kept, "body");
    held_.front().send({.status = 200, .content_type = {}, .headers = {}, .body = "late"});
  });
  EXPECT_EQ(gone.load(), 1);
  EXPECT_EQ(counters().callers_gone.value(), 1U);
  EXPECT_EQ(server_->open_connections(), 0U);
}

TEST_F(ServerCallersTest, DrainAnnouncesCloseThenStopsListeningAndFinishesWork) {
  start();
  RawSocket idle = RawSocket::to(server_->port());
  RawSocket busy = RawSocket::to(server_->port());
  busy.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1 && server_->open_connections() == 2; }));
  server_->announce_drain();
  EXPECT_NE(exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").find("Connection: close"),
            std::string::npos);
  server_->stop_accepting();
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_FALSE(idle.timed_out());
  on_worker([&] {
    held_.front().send({.status = 200, .content_type = {}, .headers = {}, .body = "done"});
  });
  EXPECT_TRUE(busy.receive_all().ends_with("done"));
  EXPECT_FALSE(RawSocket::to(server_->port()));
}

TEST_F(ServerCallersTest, CallersInTheBacklogAreServedAfterTheListenerIsToldToStop) {
  start();
  std::vector<RawSocket> queued;
  on_worker([&] {  // the acceptor cannot see them before it is told to stop
    for (int i = 0; i < 100; ++i) {
      queued.push_back(RawSocket::to(server_->port()));
      queued.back().send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    server_->stop_accepting();
  });
  for (auto& socket : queued) {
    const std::string answer = socket.receive_all();
    EXPECT_EQ(status_of(answer), "200");
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  }
  EXPECT_FALSE(RawSocket::to(server_->port()));
  queued.clear();
  EXPECT_TRUE(eventually([&] { return server_->drained(); }));
}

TEST_F(ServerCallersTest, AKeptConnectionHasItsNextRequestAnsweredInADrainAndASilentOneEnds) {
  start();
  RawSocket kept = RawSocket::to(server_->port());
  RawSocket silent = RawSocket::to(server_->port());
  kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(kept.receive_message()), "200");
  ASSERT_TRUE(eventually([&] { return server_->open_connections() == 2; }));
  server_->stop_accepting();
  kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(kept.receive_all().find("Connection: close"), std::string::npos);
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_FALSE(silent.timed_out());
}

TEST_F(ServerCallersTest, EveryPipelinedRequestIsAnsweredInADrain) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send(
      "GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 "
      "HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  server_->stop_accepting();
  on_worker([&] {
    held_.front().send({.status = 200, .content_type = {}, .headers = {}, .body = "first"});
  });
  const std::string answers = socket.receive_all();
  EXPECT_EQ(statuses_in(answers), "200 200 200");
  EXPECT_EQ(answers.find("Connection: close"), answers.rfind("Connection: close"));
  EXPECT_TRUE(answers.ends_with("GET /2 []")) << answers;
}

TEST_F(ServerCallersTest, ConnectionsGoToTheWorkerWithTheFewest) {
  start({}, 2);
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 6; ++i) {
    sockets.push_back(RawSocket::to(server_->port()));
    sockets.back().send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_of(sockets.back().receive_message()), "200");
  }
  EXPECT_EQ(server_->counters(0).open.value(), 3U);
  EXPECT_EQ(server_->counters(1).open.value(), 3U);
}

TEST_F(ServerCallersTest, AReplyMayOutliveItsServer) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  server_.reset();
  socket.receive_all();
  EXPECT_FALSE(socket.timed_out());
  on_worker([&] { held_.clear(); });
}

TEST(ServerAddress, ErrorsNameTheAddressAndTheReason) {
  ReactorThread thread;
  const auto error_at = [&](std::string_view address) {
    std::vector<Server::Worker> workers;
    workers.push_back({.reactor = thread.reactor, .handler = [](const Request&, Reply) {}});
    return Server(address, {}, std::move(workers)).error();
  };
  EXPECT_EQ(error_at("nonsense"), "cannot listen on nonsense: expected address:port");
  EXPECT_NE(error_at("999.1.1.1:80").find("cannot listen on 999.1.1.1:80: "), std::string::npos);
  EXPECT_EQ(error_at("127.0.0.1:0"), "");
  testing::RawListener taken;
  EXPECT_NE(error_at("127.0.0.1:" + std::to_string(taken.port())).find("in use"),
            std::string::npos);
}

}  // namespace
}  // namespace spillway::net
