#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/http2_fixture.h"
#include "net/server.h"
#include "net/server_fixture.h"

namespace spillway::net {
namespace {

using testing::Http2Ask;
using testing::Http2Client;
using testing::kPreface;
using testing::RawSocket;
using testing::status_of;
using Http2Test = testing::Http2Fixture;

TEST_F(Http2Test, ARequestIsWhatItWouldBeInHttp11) {
  std::string host;
  std::string cookie;
  std::string peer;
  std::string client;
  custom_ = [&](const Request& request, Reply&) {
    host = request.header("Host");
    cookie = request.header("Cookie");
    peer = request.peer;
    client = request.client_address;
    EXPECT_FALSE(request.secure);
    for (size_t i = 0; i < kBodyPadding; ++i) {
      EXPECT_EQ(request.body.data()[request.body.size() + i], '\0');
    }
  };
  open();
  Http2Client caller(port());
  const auto& answer = caller.wait(
      caller.ask("/p?q=1", {.method = "POST",
                            .headers = {{"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}},
                            .body = "hi"}));
  EXPECT_EQ(answer.status, "200");
  EXPECT_EQ(answer.body, "POST /p?q=1 [hi]");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain");
  EXPECT_EQ(answer.headers.at("content-length"), "16");
  EXPECT_TRUE(answer.headers.at("date").ends_with(" GMT"));
  EXPECT_EQ(host, "a.example");
  EXPECT_EQ(cookie, "a=1; b=2");
  EXPECT_TRUE(peer.starts_with("127.0.0.1:"));
  EXPECT_EQ(client, "127.0.0.1");
  EXPECT_EQ(caller.server_settings[NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS], 100U);
  EXPECT_EQ(counters().http2_connections.value(), 1U);
  EXPECT_EQ(counters().requests.value(), 1U);
}

TEST_F(Http2Test, ManyRequestsShareAConnectionAndAreAnsweredInAnyOrder) {
  open();
  Http2Client caller(port());
  std::vector<int32_t> ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back(caller.ask("/hold"));
  }
  caller.flush();
  ASSERT_TRUE(eventually([&] { return held_.size() == 50; }));
  on_worker([&] {
    for (size_t i = held_.size(); i-- > 0;) {
      held_[i].send({.status = 200, .body = "answer " + std::to_string(i)});
    }
  });
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(caller.wait(ids[i]).body, "answer " + std::to_string(i));
  }
  EXPECT_EQ(counters().accepted.value(), 1U);
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 50; }));
}

TEST_F(Http2Test, InterleavedBodiesReachTheirOwnRequests) {
  open();
  Http2Client caller(port());
  std::vector<int32_t> ids;
  std::vector<std::string> bodies;
  for (int i = 0; i < 8; ++i) {
    bodies.emplace_back(100'000 + static_cast<size_t>(i), static_cast<char>('a' + i));
    ids.push_back(caller.ask("/", {.method = "POST", .body = bodies.back(), .piece = 1000}));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(caller.wait(ids[i]).body, "POST / [" + bodies[i] + "]") << i;
  }
}

TEST_F(Http2Test, AnAnswerLargerThanAllWindowsArrivesWhole) {
  const std::string large(3 << 20, 'l');
  custom_ = [&](const Request&, Reply& reply) { reply.send({.status = 200, .body = large}); };
  open();
  Http2Client caller(port());
  const int32_t first = caller.ask("/");
  const int32_t second = caller.ask("/");
  EXPECT_EQ(caller.wait(first).body, large);
  EXPECT_EQ(caller.wait(second).body, large);
}

TEST_F(Http2Test, HeadAndBodylessStatusesHaveNoBody) {
  custom_ = [](const Request& request, Reply& reply) {
    if (request.path() == "/none") {
      reply.send({.status = 204, .body = "dropped"});
    }
  };
  open();
  Http2Client caller(port());
  const auto head = caller.wait(caller.ask("/", {.method = "HEAD"}));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.headers.at("content-length"), "9");
  const auto none = caller.wait(caller.ask("/none"));
  EXPECT_EQ(none.status, "204");
  EXPECT_FALSE(none.headers.contains("content-length"));
}

TEST_F(Http2Test, BodiesAndAnswersAreCompressedAsInHttp11) {
  open();
  Deflater deflater;
  const std::string plain(5'000, 'y');
  std::string packed(deflater.bound(plain.size()), '\0');
  packed.resize(deflater.compress(plain, packed.data(), packed.size()));
  Http2Client caller(port());
  const auto answer = caller.wait(
      caller.ask("/", {.method = "POST",
                       .headers = {{"content-encoding", "gzip"}, {"accept-encoding", "gzip"}},
                       .body = packed}));
  EXPECT_EQ(answer.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(answer.headers.at("vary"), "Accept-Encoding");
  BufferPool buffers(1 << 20);
  Inflater inflater;
  EXPECT_EQ(inflater.inflate(answer.body, 9'000, buffers).text, "POST / [" + plain + "]");
  EXPECT_EQ(caller
                .wait(caller.ask(
                    "/", {.method = "POST", .headers = {{"content-encoding", "br"}}, .body = "x"}))
                .status,
            "415");
}

TEST_F(Http2Test, AResetStreamIsACallerGoneAndTheConnectionServesOn) {
  std::atomic<int> gone{0};
  std::string_view kept;
  custom_ = [&](const Request& request, Reply& reply) {
    if (request.path() == "/hold") {
      kept = request.body;
      reply.on_gone([&] { ++gone; });
    }
  };
  open();
  Http2Client caller(port());
  const int32_t id = caller.ask("/hold", {.method = "POST", .body = "body"});
  caller.flush();
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  caller.reset(id);
  EXPECT_TRUE(eventually([&] { return gone.load() == 1; }));
  on_worker([&] {
    EXPECT_EQ(kept, "body");
    int late = 0;
    held_.front().on_gone([&] { ++late; });
    EXPECT_EQ(late, 1);
    held_.front().send({.status = 200, .body = "late"});
  });
  EXPECT_EQ(caller.wait(caller.ask("/")).status, "200");
  EXPECT_EQ(caller.answers[id].status, "");
  EXPECT_EQ(gone.load(), 1);
  EXPECT_EQ(counters().callers_gone.value(), 1U);
  EXPECT_EQ(counters().http2_resets.value(), 1U);
}

TEST_F(Http2Test, ACallerThatLeavesIsGoneOnEveryStream) {
  std::atomic<int> gone{0};
  custom_ = [&](const Request&, Reply& reply) {
    // Its end lets go of the neighbour too, as an owner of both may.
    reply.on_gone([&] {
      ++gone;
      held_.clear();
    });
  };
  open();
  Http2Client caller(port());
  caller.ask("/hold");
  caller.ask("/hold");
  caller.flush();
  ASSERT_TRUE(eventually([&] { return held_.size() == 2; }));
  caller.socket.shut_write();
  EXPECT_EQ(caller.wait_for_end(), -1);
  EXPECT_TRUE(eventually([&] { return server_->open_connections() == 0; }));
  EXPECT_EQ(gone.load(), 1);
  EXPECT_TRUE(eventually([&] { return counters().buffered_bytes.value() == 0; }));
}

TEST_F(Http2Test, AnIdleConnectionTakesNothingOfTheByteBudget) {
  open();
  Http2Client caller(port());
  caller.wait(caller.ask("/", {.method = "POST", .body = std::string(10'000, 'b')}));
  ASSERT_TRUE(eventually([&] { return counters().answers.value() == 1; }));
  EXPECT_EQ(counters().buffered_bytes.value(), 0U);
}

TEST_F(Http2Test, AReplyMayOutliveItsServer) {
  open();
  Http2Client caller(port());
  caller.ask("/hold", {.method = "POST", .body = "body"});
  caller.flush();
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  server_.reset();
  caller.wait_for_end();
  EXPECT_FALSE(caller.socket.timed_out());
  on_worker([&] { held_.clear(); });
}

TEST_F(Http2Test, ThePrefaceMayComeInPiecesAndHttp11IsServedBesideIt) {
  open();
  RawSocket socket = RawSocket::to(port());
  for (const char byte : kPreface) {
    socket.send({&byte, 1});
    on_worker([] {});
  }
  socket.send(testing::frame(NGHTTP2_SETTINGS, 0, 0, {}) +
              testing::frame(NGHTTP2_HEADERS, testing::kEndHeaders | testing::kEndStream, 1,
                             testing::block("/")));
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 1; }));
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")), "200");
  EXPECT_EQ(status_of(exchange("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")), "400");
  EXPECT_EQ(status_of(exchange("PRI * HT")), "400");
  EXPECT_EQ(counters().http2_connections.value(), 1U);
}

TEST_F(Http2Test, APrefaceIsABadRequestWhereHttp2IsOff) {
  start();
  EXPECT_EQ(status_of(exchange(kPreface)), "400");
  EXPECT_EQ(counters().http2_connections.value(), 0U);
}

TEST_F(Http2Test, AProxyHeaderStandsBeforeThePreface) {
  AddressSet loopback;
  loopback.add("127.0.0.0/8");
  std::string peer;
  custom_ = [&](const Request& request, Reply&) { peer = request.peer; };
  open({}, {}, {.proxies = loopback});
  Http2Client caller(port(), {}, "PROXY TCP4 198.51.100.7 10.0.0.1 8080 80\r\n");
  EXPECT_EQ(caller.wait(caller.ask("/")).status, "200");
  EXPECT_EQ(peer, "198.51.100.7:8080");
}

TEST_F(Http2Test, ForwardedForIsBelievedOfAForwarder) {
  AddressSet loopback;
  loopback.add("127.0.0.0/8");
  std::string client;
  custom_ = [&](const Request& request, Reply&) { client = request.client_address; };
  open({}, {}, {.forwarders = loopback});
  Http2Client caller(port());
  caller.wait(caller.ask("/", {.headers = {{"x-forwarded-for", "6.6.6.6, 203.0.113.9"}}}));
  EXPECT_EQ(client, "203.0.113.9");
}

TEST_F(Http2Test, ContinueIsSaidWhenAskedFor) {
  open();
  Http2Client caller(port());
  const auto& answer = caller.wait(
      caller.ask("/", {.method = "POST", .headers = {{"expect", "100-continue"}}, .body = "ok"}));
  EXPECT_EQ(answer.informational, "100");
  EXPECT_EQ(answer.status, "200");
}

TEST_F(Http2Test, DrainingSaysSoTwiceAndAnswersWhatWasSentBefore) {
  open();
  Http2Client busy(port());
  Http2Client idle(port());
  const int32_t held = busy.ask("/hold");
  busy.flush();
  idle.flush();
  ASSERT_TRUE(
      eventually([&] { return held_.size() == 1 && counters().http2_connections.value() == 2; }));
  server_->stop_accepting();
  // Sent before the second GOAWAY: served.
  const int32_t late = busy.ask("/late");
  busy.flush();
  EXPECT_EQ(idle.wait_for_end(), NGHTTP2_NO_ERROR);
  ASSERT_EQ(idle.goaways.size(), 2U);
  EXPECT_EQ(idle.goaways[0].first, INT32_MAX);
  EXPECT_EQ(idle.goaways[1].first, 0);
  ASSERT_TRUE(busy.run([&] { return busy.goaways.size() == 2; }));
  EXPECT_EQ(busy.goaways[1].first, 3);
  on_worker([&] { held_.front().send({.status = 200, .body = "done"}); });
  EXPECT_EQ(busy.wait(late).status, "200");
  EXPECT_EQ(busy.wait(held).body, "done");
  EXPECT_EQ(busy.wait_for_end(), NGHTTP2_NO_ERROR);
  EXPECT_FALSE(busy.socket.timed_out());
  EXPECT_EQ(counters().answers.value(), 2U);
}

TEST_F(Http2Test, WhoEndsLongAfterADrainBeganAndDoesNotCloseIsLetGo) {
  open();
  Http2Client caller(port());
  const int32_t held = caller.ask("/hold");
  caller.flush();
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  server_->stop_accepting();
  ASSERT_TRUE(caller.run([&] { return caller.goaways.size() == 2; }));
  // The timer armed for the drain is then earlier than the one for the caller's close.
  base::Instant later{};
  const auto now = [&] { return threads_.front()->reactor.refresh(); };
  on_worker([&] { later = now() + std::chrono::milliseconds(20); });
  ASSERT_TRUE(eventually([&] { return now() >= later; }));
  on_worker([&] { held_.front().send({.status = 200}); });
  EXPECT_EQ(caller.wait(held).status, "200");
  EXPECT_EQ(caller.wait_for_end(), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(eventually([&] { return server_->drained(); }));
}

TEST_F(Http2Test, AConnectionThatTurnsOutToBeHttp2InADrainDrains) {
  open();
  RawSocket socket = RawSocket::to(port());
  socket.send(kPreface.substr(0, 10));
  ASSERT_TRUE(eventually([&] { return counters().received_bytes.value() == 10; }));
  server_->stop_accepting();
  socket.send(std::string(kPreface.substr(10)) + testing::frame(NGHTTP2_SETTINGS, 0, 0, {}) +
              testing::frame(NGHTTP2_HEADERS, testing::kEndHeaders | testing::kEndStream, 1,
                             testing::block("/")));
  std::string answer = socket.receive_all();
  EXPECT_FALSE(socket.timed_out());
  EXPECT_EQ(codes_in(answer), "goaway:0 goaway:0");
  EXPECT_EQ(counters().answers.value(), 1U);
}

TEST_F(Http2Test, AnAnswerThatClosesEndsTheConnectionGracefully) {
  custom_ = [](const Request& request, Reply& reply) {
    if (request.path() == "/last") {
      Response response{.status = 200, .body = "last"};
      response.close = true;
      reply.send(std::move(response));
    }
  };
  open();
  Http2Client caller(port());
  const int32_t id = caller.ask("/last");
  EXPECT_EQ(caller.wait_for_end(), NGHTTP2_NO_ERROR);
  EXPECT_EQ(caller.answers[id].body, "last");
  EXPECT_EQ(caller.goaways.size(), 2U);
}

TEST_F(Http2Test, AnswersAfterTheirDeadlineAreCounted) {
  custom_ = [](const Request& request, Reply& reply) {
    reply.set_deadline(request.path() == "/late" ? request.time_zero
                                                 : request.time_zero + std::chrono::minutes(1));
  };
  open();
  Http2Client caller(port());
  caller.wait(caller.ask("/late"));
  caller.wait(caller.ask("/early"));
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 2; }));
  EXPECT_EQ(counters().deadline_misses.value(), 1U);
}

}  // namespace
}  // namespace spillway::net
