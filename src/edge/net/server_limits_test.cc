#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "net/server.h"
#include "net/server_fixture.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using testing::RawSocket;
using testing::ReactorThread;
using testing::status_of;
using testing::statuses_in;
using ServerLimitsTest = testing::ServerFixture;

TEST_F(ServerLimitsTest, AtMostPipelineRequestsOfAConnectionAreInWork) {
  start({.pipeline = 3});
  RawSocket socket = RawSocket::to(server_->port());
  std::string burst;
  for (int i = 0; i < 40; ++i) {
    burst += "GET /hold HTTP/1.1\r\nHost: a\r\nX-Filler: " + std::string(900, 'f') + "\r\n\r\n";
  }
  socket.send(burst);
  for (size_t served = 0; served < 40; ++served) {
    ASSERT_TRUE(eventually([&] { return !held_.empty(); }));
    on_worker([&] {
      EXPECT_LE(held_.size(), 3U);
      Reply first = std::move(held_.front());
      held_.erase(held_.begin());
      first.send(
          {.status = 200, .content_type = {}, .headers = {}, .body = std::to_string(served)});
    });
    EXPECT_TRUE(socket.receive_message().ends_with("\r\n\r\n" + std::to_string(served)));
  }
}

TEST_F(ServerLimitsTest, TooLargeHeadersAndBodiesAreRefusedAndTheAnswerArrives) {
  start({.header_bytes = 2048, .header_count = 10, .body_bytes = 4096});
  const std::string big(3000, 'x');
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nHost: a\r\nX: " + big + "\r\n\r\n")), "431");
  EXPECT_EQ(status_of(exchange("GET /" + big + " HTTP/1.1\r\nHost: a\r\n\r\n")), "431");
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 11; ++i) {
    many += "X: 1\r\n";
  }
  EXPECT_EQ(status_of(exchange(many + "\r\n")), "431");
  EXPECT_EQ(counters().header_too_large.value(), 3U);
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status_of(exchange(post + "Content-Length: 4097\r\n\r\n" + big + big)), "413");
  EXPECT_EQ(status_of(exchange(post + "Transfer-Encoding: chunked\r\n\r\n1001\r\n" + big)), "413");
  EXPECT_EQ(counters().body_too_large.value(), 2U);
  EXPECT_EQ(status_of(exchange(post + "Content-Length: 4096\r\n\r\n" + std::string(4096, 'y'))),
            "200");
  EXPECT_EQ(status_of(exchange(post + "Transfer-Encoding: chunked\r\n\r\n1;" + big)), "431");
}

TEST_F(ServerLimitsTest, RefusalsNameTheOriginWhereTheListenerDoes) {
  start({.body_bytes = 4096}, 1, {.names_origin = true});
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\nOrigin: https://p.example\r\n";
  for (const std::string_view rest :
       {"Content-Length: 4097\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1001\r\n",
        "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
        "Content-Length: 4\r\n\r\n\x1f\x8b\x08y"}) {
    const std::string answer = exchange(post + std::string(rest));
    EXPECT_TRUE(answer.contains("Access-Control-Allow-Origin: https://p.example\r\n")) << answer;
    EXPECT_TRUE(answer.contains("Access-Control-Allow-Credentials: true\r\n")) << answer;
    EXPECT_TRUE(answer.contains("Vary: Origin\r\n")) << answer;
  }
  const std::string other = exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4097\r\n\r\n");
  EXPECT_FALSE(other.contains("Access-Control")) << other;
}

TEST_F(ServerLimitsTest, ChunkExtensionsAreBoundedTogether) {
  start({.header_bytes = 2048, .body_bytes = 64 * 1024});
  const auto with_extensions = [](size_t count) {
    std::string request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (size_t i = 0; i < count; ++i) {
      request += "1;" + std::string(127, 'e') + "\r\nb\r\n";  // 128 bytes with their semicolon
    }
    return request + "0\r\n\r\n";
  };
  EXPECT_EQ(status_of(exchange(with_extensions(16))), "200");
  EXPECT_EQ(status_of(exchange(with_extensions(17))), "431");
  EXPECT_EQ(status_of(exchange(with_extensions(16))), "200");
}

TEST_F(ServerLimitsTest, ManyTinyChunksJoinToOneBody) {
  start({.body_bytes = 64 * 1024});
  std::string request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string body;
  for (int i = 0; i < 20'000; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    body += letter;
    request += (i % 20 == 0 ? "1;pad=padding\r\n" : "1\r\n") + std::string(1, letter) + "\r\n";
  }
  EXPECT_NE(exchange(request + "0\r\n\r\n").find("[" + body + "]"), std::string::npos);
}

TEST_F(ServerLimitsTest, BodiesAreFollowedByReadablePadding) {
  int sum = 0;
  custom_ = [&](const Request& request, Reply&) {
    for (size_t i = 0; i < kBodyPadding; ++i) {
      sum += *(request.body.data() + request.body.size() + i);
    }
  };
  start();
  for (const size_t size : {1UL, 100UL, 8000UL, 8191UL, 8192UL, 50'000UL}) {
    const std::string body(size, 'b');
    EXPECT_NE(exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
                       "\r\n\r\n" + body)
                  .find(body),
              std::string::npos);
  }
  EXPECT_EQ(sum, 0);
}

TEST_F(ServerLimitsTest, OverTheByteBudgetRequestsAreAnswered503) {
  start({.worker_bytes = 20'000});
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 2; ++i) {
    sockets.push_back(RawSocket::to(server_->port()));
    sockets.back().send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&] { return held_.size() == 2; }));
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "503");
  EXPECT_EQ(counters().over_budget.value(), 1U);
  on_worker([&] { held_.clear(); });
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "200");
  EXPECT_TRUE(eventually([&] { return counters().buffered_bytes.value() == 0; }));
}

TEST_F(ServerLimitsTest, ConnectionsOverTheLimitAreClosedAndCounted) {
  start({.connections = 2});
  RawSocket first = RawSocket::to(server_->port());
  RawSocket second = RawSocket::to(server_->port());
  ASSERT_TRUE(eventually([&] { return server_->open_connections() == 2; }));
  RawSocket third = RawSocket::to(server_->port());
  EXPECT_EQ(third.receive_all(), "");
  EXPECT_FALSE(third.timed_out());
  EXPECT_EQ(counters().over_connections.value(), 1U);
}

TEST_F(ServerLimitsTest, TheTimeOfRefusalsIsCountedAndNoOther) {
  bool refuses = false;
  custom_ = [&](const Request&, Reply& reply) {
    reply.send({.status = 204, .headers = {}, .body = {}, .refusal = refuses});
  };
  start();
  RawSocket kept = RawSocket::to(server_->port());
  const auto ask = [&] {
    kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(status_of(kept.receive_message()), "204");
  };
  ask();
  ask();
  EXPECT_EQ(counters().refusing_ns.value(), 0U);
  on_worker([&] { refuses = true; });
  ask();
  ask();
  EXPECT_TRUE(eventually([&] { return counters().refusing_ns.value() > 0; }));
}

TEST_F(ServerLimitsTest, WithoutDescriptorsCallersAreClosedAndServingGoesOn) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own check of virtual calls opens a pipe, and there is none left";
#endif
  start();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  RawSocket refused{UniqueFd()};
  on_worker([&] {  // before the acceptor sees the connection
    refused = RawSocket::to(server_->port());
    const UniqueFd lowest_free(::dup(refused.fd()));
    const rlimit none_left{.rlim_cur = static_cast<rlim_t>(lowest_free.fd()),
                           .rlim_max = limit.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  });
  EXPECT_EQ(refused.receive_all(), "");
  EXPECT_FALSE(refused.timed_out());
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_GE(counters().accept_errors.value(), 1U);
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "200");
}

}  // namespace
}  // namespace spillway::net
