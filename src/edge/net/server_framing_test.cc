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
using ServerFramingTest = testing::ServerFixture;

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
      {"two pipelined", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
       "200 200", "/2"},
      {"nothing after close",
       "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
       "200", "close"},
      {"1.0 closes", "GET / HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", "200", "Connection: close"},
      {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
       "200 200", "Connection: keep-alive"},
      {"head has no body", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "200", "Content-Length: 9\r\n"},
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
      {"NUL in target", "GET /" + nul + " HTTP/1.1\r\nHost: a\r\n\r\n", "400", ""},
      {"space before colon", post + "Content-Length : 1\r\n\r\na", "400", ""},
      {"no colon", post + "nonsense\r\n\r\n", "400", ""},
      {"bare LF", "GET / HTTP/1.1\nHost: a\n\n", "400", ""},
      {"bare CR", post + "X: a\rb\r\n\r\n", "400", ""},
      {"no host", "GET / HTTP/1.1\r\nX: a\r\n\r\n", "400", "close"},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400", ""},
      {"version 2", "GET / HTTP/2.0\r\n\r\n", "400", ""},
      {"no version", "GET /\r\n\r\n", "400", ""},
      {"not HTTP", "\x16\x03\x01\x02 hello, TLS\r\n\r\n", "400", ""},
      {"good then bad", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/9.9\r\n\r\n", "200 400",
       "close"},
  };
}

TEST_F(ServerFramingTest, EveryFramingRuleGivesItsStatusWholeAndByteByByte) {
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

TEST_F(ServerFramingTest, KeptAliveConnectionServesManyRequests) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  for (int i = 0; i < 50; ++i) {
    socket.send("POST /k HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_TRUE(socket.receive_message().ends_with("\r\n\r\nPOST /k [hi]"));
  }
  EXPECT_EQ(counters().accepted.value(), 1U);
  EXPECT_EQ(counters().requests.value(), 50U);
}

TEST_F(ServerFramingTest, PipelinedAnswersKeepTheOrderOfTheirRequests) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return counters().requests.value() == 2; }));
  on_worker([&] {
    held_.front().send({.status = 202, .content_type = {}, .headers = {}, .body = "first"});
  });
  EXPECT_TRUE(socket.receive_message().ends_with("first"));
  EXPECT_TRUE(socket.receive_message().ends_with("GET /second []"));
}

TEST_F(ServerFramingTest, TheHandlerIsNotEnteredFromInsideSend) {
  start({.pipeline = 1});
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  on_worker([&] {
    held_.front().send({.status = 200, .body = "held"});
    EXPECT_EQ(counters().requests.value(), 1U);
  });
  EXPECT_TRUE(socket.receive_message().ends_with("held"));
  EXPECT_TRUE(socket.receive_message().ends_with("GET /next []"));
}

TEST_F(ServerFramingTest, ExpectContinueIsAnsweredBeforeTheBody) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(socket.receive_message(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("ok");
  EXPECT_TRUE(socket.receive_message().ends_with("[ok]"));
  EXPECT_EQ(status_of(exchange("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                               "Content-Length: 99999999\r\n\r\n")),
            "413");
}

TEST_F(ServerFramingTest, ContinueWaitsForEarlierAnswers) {
  start();
  RawSocket socket = RawSocket::to(server_->port());
  socket.send(
      "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return held_.size() == 1; }));
  on_worker([&] { held_.clear(); });
  EXPECT_EQ(status_of(socket.receive_message()), "500");  // closes: no 100 follows
  EXPECT_EQ(socket.receive_all(), "");
}

TEST_F(ServerFramingTest, BodylessStatusesCarryNoLength) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send({.status = 204,
                .content_type = {},
                .headers = {{"X-A", "1"}, {"X-B", "a\r\nEvil: 1"}},
                .body = "dropped"});
  };
  start();
  const std::string answer = exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 204 No Content\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  EXPECT_EQ(answer.find("Content-Length"), std::string::npos);
  EXPECT_NE(answer.find("X-A: 1\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("Evil"), std::string::npos);
}

}  // namespace
}  // namespace spillway::net
