#include "net/server.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/http.h"
#include "net/stream.h"
#include "net/test_kit.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using testing::RawSocket;
using testing::ReactorThread;

/// Answers with what it understood; keeps replies back while `hold` is set.
class ServerTest : public ::testing::Test {
 protected:
  void start(const ServerLimits& limits = {}, size_t workers = 1) {
    std::vector<Server::Worker> parts;
    for (size_t i = 0; i < workers; ++i) {
      threads_.push_back(std::make_unique<ReactorThread>());
      parts.push_back({.reactor = threads_.back()->reactor,
                       .handler = [this](const Request& request, Reply reply) {
                         handle(request, std::move(reply));
                       }});
    }
    server_ = std::make_unique<Server>("127.0.0.1:0", limits, std::move(parts));
    ASSERT_EQ(server_->error(), "");
    server_->start();
  }

  void TearDown() override {
    on_worker([this] { held_.clear(); });
    server_.reset();
    threads_.clear();
  }

  void on_worker(const std::function<void()>& work) {
    if (!threads_.empty()) {
      threads_.front()->sync(work);
    }
  }

  void handle(const Request& request, Reply reply) {
    if (custom_) {
      custom_(request, reply);
    }
    if (!reply) {
      return;
    }
    Response response{.status = 200, .content_type = "text/plain", .headers = {}, .body = {}};
    response.body = std::string(request.method) + " " + std::string(request.target) + " [" +
                    std::string(request.body) + "]";
    if (request.path() == "/hold") {
      held_.push_back(std::move(reply));
      held_count_.store(held_.size());
      return;
    }
    reply.send(std::move(response));
  }

  /// Waits until `condition` holds on the worker's thread; false after 10 s.
  bool eventually(const std::function<bool()>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + 10s;
         std::chrono::steady_clock::now() < end;) {
      bool holds = false;
      on_worker([&] { holds = condition(); });
      if (holds) {
        return true;
      }
    }
    return false;
  }

  std::string exchange(std::string_view request) {
    RawSocket socket = RawSocket::to(server_->port());
    socket.send(request);
    socket.shut_write();
    std::string answer = socket.receive_all();
    return socket.timed_out() ? "<hang> " + answer : answer;
  }

  const ServerCounters& counters() { return server_->counters(0); }

  std::vector<std::unique_ptr<ReactorThread>> threads_;
  std::unique_ptr<Server> server_;
  std::function<void(const Request&, Reply&)> custom_;
  std::vector<Reply> held_;
  std::atomic<size_t> held_count_{0};
};

std::string status_of(std::string_view answer) {
  return answer.size() >= 12 ? std::string(answer.substr(9, 3)) : std::string(answer);
}

struct FramingRow {
  const char* name;
  std::string bytes;
  const char* statuses;  ///< Of the answers in order, separated by spaces.
  const char* contains;  ///< Somewhere in the answers.
};

std::vector<FramingRow> framing_rows() {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::string nul(1, '\0');
  return {
      {"plain get", "GET /a?b=1 HTTP/1.1\r\nHost: a\r\n\r\n", "200", "GET /a?b=1 []"},
      {"length", post + "Content-Length: 3\r\n\r\nabc", "200", "[abc]"},
      {"zero length", post + "Content-Length: 0\r\n\r\n", "200", "[]"},
      {"chunked", post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n",
       "200", "[abcde]"},
      {"chunked with trailer",
       post + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: 1\r\n\r\n", "200", "[a]"},
      {"chunked in capitals", post + "Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n", "200",
       "[a]"},
      {"two pipelined", "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", "200 200", "/2"},
      {"nothing after close", "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n\r\n",
       "200", "close"},
      {"1.0 closes", "GET / HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", "200", "Connection: close"},
      {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
       "200 200", "Connection: keep-alive"},
      {"head has no body", "HEAD / HTTP/1.1\r\n\r\n", "200", "Content-Length: 9\r\n"},
      {"equal lengths twice", post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", "400", ""},
      {"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400", ""},
      {"length list", post + "Content-Length: 1, 1\r\n\r\na", "400", ""},
      {"signed length", post + "Content-Length: +1\r\n\r\na", "400", ""},
      {"negative length", post + "Content-Length: -1\r\n\r\na", "400", ""},
      {"hex length", post + "Content-Length: 0x1\r\n\r\na", "400", ""},
      {"empty length", post + "Content-Length:\r\n\r\na", "400", ""},
      {"huge length", post + "Content-Length: 99999999999999999999\r\n\r\na", "400", ""},
      {"length and coding",
       post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", ""},
      {"coding and length",
       post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", "400", ""},
      {"two codings",
       post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400",
       ""},
      {"chunked not last", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "400", ""},
      {"other coding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400", ""},
      {"identity", post + "Transfer-Encoding: identity\r\n\r\n", "400", ""},
      {"odd chunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400", ""},
      {"coding in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400",
       ""},
      {"bad chunk size", post + "Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n", "400",
       ""},
      {"negative chunk size", post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
       "400", ""},
      {"huge chunk size", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400",
       ""},
      {"chunk longer than said", post + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
       "400", ""},
      {"chunk lines by LF", post + "Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n", "400", ""},
      {"length in trailer",
       post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n", "400", ""},
      {"folded header", post + "X: a\r\n b\r\n\r\n", "400", ""},
      {"folded at once", post + "X:\r\n b\r\n\r\n", "400", ""},
      {"folded to nothing", post + "X:\r\n \r\n\r\n", "400", ""},
      {"NUL in value", post + "X: a" + nul + "b\r\n\r\n", "400", ""},
      {"NUL in name", post + "X" + nul + ": a\r\n\r\n", "400", ""},
      {"NUL in target", "GET /" + nul + " HTTP/1.1\r\n\r\n", "400", ""},
      {"space before colon", post + "Content-Length : 1\r\n\r\na", "400", ""},
      {"no colon", post + "nonsense\r\n\r\n", "400", ""},
      {"bare LF", "GET / HTTP/1.1\nHost: a\n\n", "400", ""},
      {"bare CR", post + "X: a\rb\r\n\r\n", "400", ""},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400", ""},
      {"version 2", "GET / HTTP/2.0\r\n\r\n", "400", ""},
      {"no version", "GET /\r\n\r\n", "400", ""},
      {"not HTTP", "\x16\x03\x01\x02 hello, TLS\r\n\r\n", "400", ""},
      {"good then bad", "GET /1 HTTP/1.1\r\n\r\nGET / HTTP/9.9\r\n\r\n", "200 400", "close"},
  };
}

std::string statuses_in(const std::string& answers) {
  std::string statuses;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 ", at)) != std::string::npos; at += 9) {
    statuses += (statuses.empty() ? "" : " ") + answers.substr(at + 9, 3);
  }
  return answers.starts_with("<hang>") ? answers : statuses;
}

TEST_F(ServerTest, EveryFramingRuleGivesItsStatusWholeAndByteByByte) {
  start();
  for (const FramingRow& row : framing_rows()) {
    const std::string whole = exchange(row.bytes);
    EXPECT_EQ(statuses_in(whole), row.statuses) << row.name;
    EXPECT_NE(whole.find(row.contains), std::string::npos) << row.name << ": " << whole;
    RawSocket socket = RawSocket::to(server_->port());
    for (const char byte : row.bytes) {
      socket.send({&byte, 1});
    }
    socket.shut_write();
    EXPECT_EQ(statuses_in(socket.receive_all()), row.statuses) << row.name << ", byte by byte";
  }
  EXPECT_GT(counters().bad_request.value(), 60U);
}

TEST_F(ServerTest, KeptAliveConnectionServesManyRequests) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  for (int i = 0; i < 50; ++i) {
    socket.send("POST /k HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_TRUE(socket.receive_message().ends_with("\r\n\r\nPOST /k [hi]"));
  }
  EXPECT_EQ(counters().accepted.value(), 1U);
  EXPECT_EQ(counters().requests.value(), 50U);
}

TEST_F(ServerTest, PipelinedAnswersKeepTheOrderOfTheirRequests) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /hold HTTP/1.1\r\n\r\nGET /second HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return counters().requests.value() == 2; }));
  on_worker([&] {
    held_.front().send({.status = 202, .content_type = {}, .headers = {}, .body = "first"});
  });
  EXPECT_TRUE(socket.receive_message().ends_with("first"));
  EXPECT_TRUE(socket.receive_message().ends_with("GET /second []"));
}

TEST_F(ServerTest, AtMostPipelineRequestsOfAConnectionAreInWork) {
  start({.pipeline = 3});
  RawSocket socket = RawSocket::to(server_->port());
  std::string burst;
  for (int i = 0; i < 40; ++i) {
    burst += "GET /hold HTTP/1.1\r\nX-Filler: " + std::string(900, 'f') + "\r\n\r\n";
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

TEST_F(ServerTest, TheHandlerIsNotEnteredFromInsideSend) {
  start({.pipeline = 1});
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /hold HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  on_worker([&] {
    held_.front().send({.status = 200, .body = "held"});
    EXPECT_EQ(counters().requests.value(), 1U);
  });
  EXPECT_TRUE(socket.receive_message().ends_with("held"));
  EXPECT_TRUE(socket.receive_message().ends_with("GET /next []"));
}

TEST_F(ServerTest, TooLargeHeadersAndBodiesAreRefusedAndTheAnswerArrives) {
  start({.header_bytes = 2048, .header_count = 10, .body_bytes = 4096});
  const std::string big(3000, 'x');
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\nX: " + big + "\r\n\r\n")), "431");
  EXPECT_EQ(status_of(exchange("GET /" + big + " HTTP/1.1\r\n\r\n")), "431");
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 11; ++i) {
    many += "X: 1\r\n";
  }
  EXPECT_EQ(status_of(exchange(many + "\r\n")), "431");
  EXPECT_EQ(counters().header_too_large.value(), 3U);
  const std::string post = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(status_of(exchange(post + "Content-Length: 4097\r\n\r\n" + big + big)), "413");
  EXPECT_EQ(status_of(exchange(post + "Transfer-Encoding: chunked\r\n\r\n1001\r\n" + big)), "413");
  EXPECT_EQ(counters().body_too_large.value(), 2U);
  EXPECT_EQ(status_of(exchange(post + "Content-Length: 4096\r\n\r\n" + std::string(4096, 'y'))),
            "200");
  EXPECT_EQ(status_of(exchange(post + "Transfer-Encoding: chunked\r\n\r\n1;" + big)), "431");
}

TEST_F(ServerTest, ManyTinyChunksJoinToOneBody) {
  start({.body_bytes = 64 * 1024});
  std::string request = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string body;
  for (int i = 0; i < 20'000; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    body += letter;
    request += "1;pad=padding\r\n" + std::string(1, letter) + "\r\n";
  }
  EXPECT_NE(exchange(request + "0\r\n\r\n").find("[" + body + "]"), std::string::npos);
}

TEST_F(ServerTest, BodiesAreFollowedByReadablePadding) {
  int sum = 0;
  custom_ = [&](const Request& request, Reply&) {
    for (size_t i = 0; i < kBodyPadding; ++i) {
      sum += *(request.body.data() + request.body.size() + i);
    }
  };
  start();
  for (const size_t size : {1UL, 100UL, 8000UL, 8191UL, 8192UL, 50'000UL}) {
    const std::string body(size, 'b');
    EXPECT_NE(
        exchange("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" + body)
            .find(body),
        std::string::npos);
  }
  EXPECT_EQ(sum, 0);
}

TEST_F(ServerTest, ExpectContinueIsAnsweredBeforeTheBody) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(socket.receive_message(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("ok");
  EXPECT_TRUE(socket.receive_message().ends_with("[ok]"));
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nExpect: 100-continue\r\n"
                               "Content-Length: 99999999\r\n\r\n")),
            "413");
}

TEST_F(ServerTest, ContinueWaitsForEarlierAnswers) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send(
      "GET /hold HTTP/1.1\r\n\r\n"
      "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  on_worker([&] { held_.clear(); });
  EXPECT_EQ(status_of(socket.receive_message()), "500");  // closes: no 100 follows
  EXPECT_EQ(socket.receive_all(), "");
}

TEST_F(ServerTest, SlowCallersAreTimedOut) {
  start({.header_timeout = 30ms, .body_timeout = 30ms, .idle_timeout = 30ms});
  RawSocket slow_header = RawSocket::to(server_->port());
  slow_header.send("GET / HT");
  EXPECT_EQ(status_of(slow_header.receive_all()), "408");
  RawSocket slow_body = RawSocket::to(server_->port());
  slow_body.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(status_of(slow_body.receive_all()), "408");
  EXPECT_EQ(counters().timeouts.value(), 2U);
  RawSocket idle = RawSocket::to(server_->port());
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_FALSE(idle.timed_out());
  RawSocket after_one = RawSocket::to(server_->port());
  after_one.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(statuses_in(after_one.receive_all()), "200");
  EXPECT_FALSE(after_one.timed_out());
}

TEST_F(ServerTest, ACallerThatDoesNotReadIsTimedOut) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send(
        {.status = 200, .content_type = {}, .headers = {}, .body = std::string(64 << 20, 'z')});
  };
  start({.write_timeout = 50ms});
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(eventually(
      [&] { return server_->open_connections() == 0 && counters().timeouts.value() == 1; }));
}

TEST_F(ServerTest, LargeAnswersAreFinishedWhenTheCallerReadsThem) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send(
        {.status = 200, .content_type = {}, .headers = {}, .body = std::string(20 << 20, 'z')});
  };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_GT(socket.receive_all().size(), size_t{40 << 20});
}

TEST_F(ServerTest, OverTheByteBudgetRequestsAreAnswered503) {
  start({.worker_bytes = 20'000});
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 2; ++i) {
    sockets.push_back(RawSocket::to(server_->port()));
    sockets.back().send("GET /hold HTTP/1.1\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&] { return held_.size() == 2; }));
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), "503");
  EXPECT_EQ(counters().over_budget.value(), 1U);
  on_worker([&] { held_.clear(); });
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), "200");
  EXPECT_TRUE(eventually([&] { return counters().buffered_bytes.value() == 0; }));
}

TEST_F(ServerTest, AHalfClosedCallerStillGetsItsAnswer) {
  std::atomic<int> gone{0};
  custom_ = [&](const Request&, Reply& reply) { reply.on_gone([&] { ++gone; }); };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /hold HTTP/1.1\r\n\r\n");
  socket.shut_write();
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  on_worker([&] {});
  on_worker(
      [&] { held_.front().send({.status = 201, .content_type = {}, .headers = {}, .body = {}}); });
  EXPECT_EQ(statuses_in(socket.receive_all()), "201");
  EXPECT_EQ(gone.load(), 0);
}

TEST_F(ServerTest, AResetCallerIsReportedOnceAndItsRequestStaysReadable) {
  std::atomic<int> gone{0};
  std::string_view kept;
  custom_ = [&](const Request& request, Reply& reply) {
    kept = request.body;
    reply.on_gone([&] { ++gone; });
  };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("POST /hold HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
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

TEST_F(ServerTest, AnswersAfterTheirDeadlineAreCounted) {
  custom_ = [&](const Request& request, Reply& reply) {
    reply.set_deadline(request.path() == "/late" ? request.time_zero - 1ms
                                                 : request.time_zero + 1h);
    EXPECT_LE(request.time_zero + request.queue_age, request.read_at);
    EXPECT_GE(request.queue_age, 0ns);
  };
  start();
  EXPECT_EQ(status_of(exchange("GET /late HTTP/1.1\r\n\r\n")), "200");
  EXPECT_EQ(status_of(exchange("GET /early HTTP/1.1\r\n\r\n")), "200");
  EXPECT_EQ(counters().deadline_misses.value(), 1U);
}

TEST_F(ServerTest, QueueAgeIsTheTimeBytesWaitedForTheThread) {
  std::atomic<int64_t> age_ns{-1};
  custom_ = [&](const Request& request, Reply&) { age_ns = request.queue_age.count(); };
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /first HTTP/1.1\r\n\r\n");
  socket.receive_message();
  std::promise<void> sent;
  threads_.front()->reactor.post([&] {  // a handler that holds the thread for 20 ms
    socket.send("GET /second HTTP/1.1\r\n\r\n");
    const auto until = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < until) {
    }
    sent.set_value();
  });
  sent.get_future().wait();
  socket.receive_message();
  EXPECT_GE(age_ns.load(), 19'000'000);
}

TEST_F(ServerTest, BodylessStatusesCarryNoLength) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send({.status = 204,
                .content_type = {},
                .headers = {{"X-A", "1"}, {"X-B", "a\r\nEvil: 1"}},
                .body = "dropped"});
  };
  start();
  const std::string answer = exchange("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 204 No Content\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  EXPECT_EQ(answer.find("Content-Length"), std::string::npos);
  EXPECT_NE(answer.find("X-A: 1\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("Evil"), std::string::npos);
}

TEST_F(ServerTest, DrainAnnouncesCloseThenStopsListeningAndFinishesWork) {
  start();
  RawSocket idle = RawSocket::to(server_->port());
  RawSocket busy = RawSocket::to(server_->port());
  busy.send("GET /hold HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1 && server_->open_connections() == 2; }));
  server_->announce_drain();
  EXPECT_NE(exchange("GET / HTTP/1.1\r\n\r\n").find("Connection: close"), std::string::npos);
  server_->stop_accepting();
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_FALSE(idle.timed_out());
  on_worker([&] {
    held_.front().send({.status = 200, .content_type = {}, .headers = {}, .body = "done"});
  });
  EXPECT_TRUE(busy.receive_all().ends_with("done"));
  EXPECT_FALSE(RawSocket::to(server_->port()));
}

TEST_F(ServerTest, ConnectionsOverTheLimitAreClosedAndCounted) {
  start({.connections = 2});
  RawSocket first = RawSocket::to(server_->port());
  RawSocket second = RawSocket::to(server_->port());
  ASSERT_TRUE(eventually([&] { return server_->open_connections() == 2; }));
  RawSocket third = RawSocket::to(server_->port());
  EXPECT_EQ(third.receive_all(), "");
  EXPECT_FALSE(third.timed_out());
  EXPECT_EQ(counters().over_connections.value(), 1U);
}

TEST_F(ServerTest, WithoutDescriptorsCallersAreClosedAndServingGoesOn) {
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
  EXPECT_EQ(status_of(exchange("GET / HTTP/1.1\r\n\r\n")), "200");
}

TEST_F(ServerTest, ConnectionsGoToTheWorkerWithTheFewest) {
  start({}, 2);
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 6; ++i) {
    sockets.push_back(RawSocket::to(server_->port()));
    sockets.back().send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(status_of(sockets.back().receive_message()), "200");
  }
  EXPECT_EQ(server_->counters(0).open.value(), 3U);
  EXPECT_EQ(server_->counters(1).open.value(), 3U);
}

TEST_F(ServerTest, AReplyMayOutliveItsServer) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("POST /hold HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
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
