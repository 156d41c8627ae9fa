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

#include "net/http2_fixture.h"
#include "net/server.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using testing::big_endian;
using testing::block;
using testing::frame;
using testing::Http2Client;
using testing::kEndHeaders;
using testing::kEndStream;
using testing::literal;
using Http2LimitsTest = testing::Http2Fixture;

std::string get(uint32_t stream, std::string_view path = "/") {
  return frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, stream, block(path));
}

std::string reset(uint32_t stream) {
  return frame(NGHTTP2_RST_STREAM, 0, stream, big_endian(NGHTTP2_CANCEL));
}

std::string repeat(size_t times, std::string_view bytes) {
  std::string all;
  for (size_t i = 0; i < times; ++i) {
    all.append(bytes);
  }
  return all;
}

const std::string kCalm = "goaway:" + std::to_string(NGHTTP2_ENHANCE_YOUR_CALM);

TEST_F(Http2LimitsTest, StreamsOverTheCapAreRefusedAndTheOthersServed) {
  open({}, {.max_streams = 4});
  Http2Client caller(port());
  caller.flush();
  std::string burst;  // before our SETTINGS are seen, as a caller may
  for (uint32_t i = 0; i < 6; ++i) {
    burst += get(1 + 2 * i, "/hold");
  }
  caller.socket.send(burst);
  ASSERT_TRUE(
      eventually([&] { return held_.size() == 4 && counters().http2_refused.value() == 2; }));
  on_worker([&] { held_.clear(); });
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 4; }));
}

TEST_F(Http2LimitsTest, AResetStreamCountsUntilItsHandlerLetsGo) {
  open({}, {.max_streams = 4});
  Http2Client caller(port());
  caller.flush();
  std::string burst;
  for (uint32_t i = 0; i < 20; ++i) {
    burst += get(1 + 2 * i, "/hold") + reset(1 + 2 * i);
  }
  caller.socket.send(burst);
  ASSERT_TRUE(eventually([&] { return counters().http2_refused.value() == 16; }));
  EXPECT_EQ(held_count_.load(), 4U);
  on_worker([&] { held_.clear(); });
  caller.socket.send(get(101, "/after"));
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 1; }));
}

TEST_F(Http2LimitsTest, RapidResetEndsTheConnection) {
  open({}, {.max_resets = 100});
  std::string burst;
  for (uint32_t i = 0; i < 5'000; ++i) {
    burst += get(1 + 2 * i) + reset(1 + 2 * i);
  }
  EXPECT_TRUE(provoke(burst).ends_with(kCalm));
  EXPECT_EQ(counters().http2_reset_floods.value(), 1U);
  EXPECT_LE(counters().http2_resets.value(), 1'000U);
}

TEST_F(Http2LimitsTest, StreamsThatTheCallerMakesUsResetCountAsWell) {
  open({}, {.max_resets = 100});
  std::string burst;
  for (uint32_t i = 0; i < 2'000; ++i) {
    burst +=
        get(1 + 2 * i, "/hold") + frame(NGHTTP2_WINDOW_UPDATE, 0, 1 + 2 * i, big_endian(INT32_MAX));
  }
  const std::string codes = provoke(burst);
  EXPECT_TRUE(codes.starts_with("reset:3 ")) << codes.substr(0, 100);
  EXPECT_TRUE(codes.ends_with(kCalm));
  EXPECT_EQ(counters().http2_reset_floods.value(), 1U);
  EXPECT_TRUE(eventually([&] { return counters().callers_gone.value() == held_.size(); }));
}

TEST_F(Http2LimitsTest, HeadersOverTheCapAreAnswered431AndTheConnectionServesOn) {
  open({.header_bytes = 2'048, .header_count = 10});
  Http2Client caller(port());
  EXPECT_EQ(caller.wait(caller.ask("/", {.headers = {{"x", std::string(3'000, 'x')}}})).status,
            "431");
  std::vector<std::pair<std::string, std::string>> many(12, {"x", "1"});
  EXPECT_EQ(caller.wait(caller.ask("/", {.headers = many})).status, "431");
  const int32_t posted =
      caller.ask("/", {.method = "POST", .headers = many, .body = std::string(30'000, 'b')});
  EXPECT_EQ(caller.wait(posted).status, "431");
  EXPECT_EQ(caller.answers[posted].error, NGHTTP2_NO_ERROR);
  EXPECT_EQ(caller.wait(caller.ask("/")).status, "200");
  EXPECT_EQ(counters().header_too_large.value(), 3U);
  EXPECT_EQ(caller.server_settings[NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE], 2'048U);
}

TEST_F(Http2LimitsTest, AHeaderBombEndsTheConnection) {
  open({.header_bytes = 2'048});
  // A field of 1 KiB put into the table once, then named again by one byte each.
  std::string bomb = block("/");
  bomb += '\x40';
  bomb += '\x01';
  bomb += 'x';
  bomb += "\x7f\x81\x07" + std::string(1'024, 'x');
  bomb += std::string(8'000, '\xbe');
  EXPECT_EQ(provoke(frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 1, bomb)), kCalm);
  EXPECT_EQ(counters().http2_header_floods.value(), 1U);
  EXPECT_EQ(counters().requests.value(), 0U);
}

TEST_F(Http2LimitsTest, FloodsOfFramesThatAskNothingEndTheConnection) {
  const std::string post = frame(NGHTTP2_HEADERS, kEndHeaders, 1, block("/", true));
  const std::string padding(200, '\0');
  const std::vector<std::pair<std::string, std::string>> floods{
      {"ping", frame(NGHTTP2_PING, 0, 0, "12345678")},
      {"settings", frame(NGHTTP2_SETTINGS, 0, 0, {})},
      {"settings acknowledged",
       frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\1", 2) + big_endian(4096))},
      {"empty data", frame(NGHTTP2_DATA, 0, 1, {})},
      {"padding alone", frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, "\xc8" + padding)},
      {"tiny data", frame(NGHTTP2_DATA, 0, 1, "x")},
      {"window updates", frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1))},
      {"priorities", frame(NGHTTP2_PRIORITY, 0, 1, big_endian(0) + "x")}};
  open({}, {.max_control_frames = 500});
  for (const auto& [name, one] : floods) {
    EXPECT_EQ(provoke(post + repeat(2'000, one)), kCalm) << name;
  }
  EXPECT_EQ(counters().http2_control_floods.value(), floods.size());
  EXPECT_TRUE(eventually([&] { return server_->open_connections() == 0; }));
  EXPECT_TRUE(eventually([&] { return counters().buffered_bytes.value() == 0; }));
}

TEST_F(Http2LimitsTest, AContinuationFloodEndsTheConnection) {
  open();
  const std::string first = frame(NGHTTP2_HEADERS, kEndStream, 1, block("/"));
  const std::string one = frame(NGHTTP2_CONTINUATION, 0, 1, literal("x", "y"));
  EXPECT_NE(provoke(first + repeat(100'000, one)), "<hang>");
  EXPECT_EQ(counters().http2_protocol.value() + counters().http2_control_floods.value(), 1U);
  EXPECT_EQ(counters().requests.value(), 0U);
}

TEST_F(Http2LimitsTest, FramesInReasonAreNoFlood) {
  open({}, {.max_control_frames = 100});
  Http2Client caller(port());
  const std::string body(100'000, 'b');
  for (int i = 0; i < 50; ++i) {  // their WINDOW_UPDATEs go with what was sent
    EXPECT_EQ(caller.wait(caller.ask("/", {.method = "POST", .body = body})).body.size(), 100'009U);
  }
  EXPECT_EQ(counters().http2_control_floods.value(), 0U);
}

TEST_F(Http2LimitsTest, BodiesOverTheCapAreAnswered413AndTheConnectionServesOn) {
  open({.body_bytes = 4'096});
  Http2Client caller(port());
  const std::string body(300'000, 'b');
  const int32_t declared =
      caller.ask("/", {.method = "POST", .headers = {{"content-length", "300000"}}, .body = body});
  EXPECT_EQ(caller.wait(declared).status, "413");
  const int32_t undeclared = caller.ask("/", {.method = "POST", .body = body});
  EXPECT_EQ(caller.wait(undeclared).status, "413");
  EXPECT_EQ(caller.answers[undeclared].error, NGHTTP2_NO_ERROR);
  EXPECT_EQ(
      caller.wait(caller.ask("/", {.method = "POST", .body = std::string(4'096, 'b')})).status,
      "200");
  EXPECT_EQ(counters().body_too_large.value(), 2U);
  EXPECT_EQ(counters().http2_reset_floods.value(), 0U);
}

TEST_F(Http2LimitsTest, RefusalsNameTheOriginWhereTheListenerDoes) {
  open({.body_bytes = 4'096}, {}, {.names_origin = true});
  Http2Client caller(port());
  const auto refused = [&](std::vector<std::pair<std::string, std::string>> headers) {
    headers.emplace_back("content-length", "300000");
    return caller.wait(
        caller.ask("/", {.method = "POST", .headers = headers, .body = std::string(300'000, 'b')}));
  };
  auto answer = refused({{"origin", "https://p.example"}});
  EXPECT_EQ(answer.status, "413");
  EXPECT_EQ(answer.headers["access-control-allow-origin"], "https://p.example");
  EXPECT_EQ(answer.headers["access-control-allow-credentials"], "true");
  EXPECT_FALSE(refused({}).headers.contains("access-control-allow-origin"));
}

TEST_F(Http2LimitsTest, OverTheByteBudgetRequestsAreAnswered503) {
  open({.worker_bytes = 256 * 1024});
  Http2Client caller(port());
  std::vector<int32_t> ids;
  for (int i = 0; i < 40; ++i) {
    ids.push_back(caller.ask("/hold", {.method = "POST", .body = std::string(10'000, 'b')}));
  }
  ASSERT_TRUE(caller.run([&] {
    size_t refused = 0;
    for (const auto& [id, answer] : caller.answers) {
      refused += answer.status == "503" ? 1U : 0U;
    }
    return refused + held_count_.load() == ids.size();
  }));
  EXPECT_GT(counters().over_budget.value(), 0U);
  on_worker([&] { held_.clear(); });
  caller.socket.close();
  EXPECT_TRUE(eventually([&] { return counters().buffered_bytes.value() == 0; }));
}

TEST_F(Http2LimitsTest, SlowCallersAreTimedOut) {
  open({.header_timeout = 30ms, .body_timeout = 30ms, .idle_timeout = 30ms});
  // Answered and the rest declined; then the connection is idle.
  EXPECT_EQ(provoke(frame(NGHTTP2_HEADERS, kEndHeaders, 1, block("/", true))),
            "reset:0 goaway:0 goaway:0");
  EXPECT_EQ(counters().timeouts.value(), 1U);
  EXPECT_EQ(counters().answers.value(), 1U);
  // A header block that does not end, and no SETTINGS after the preface.
  EXPECT_EQ(provoke(frame(NGHTTP2_HEADERS, 0, 1, block("/"))),
            "goaway:" + std::to_string(NGHTTP2_PROTOCOL_ERROR));
  testing::RawSocket silent = testing::RawSocket::to(port());
  silent.send(testing::kPreface);
  std::string answer = silent.receive_all();
  EXPECT_EQ(codes_in(answer), "goaway:" + std::to_string(NGHTTP2_SETTINGS_TIMEOUT));
  EXPECT_EQ(counters().timeouts.value(), 3U);
  Http2Client idle(port());
  EXPECT_EQ(idle.wait_for_end(), NGHTTP2_NO_ERROR);
  EXPECT_FALSE(idle.socket.timed_out());
  EXPECT_EQ(counters().timeouts.value(), 3U);
}

TEST_F(Http2LimitsTest, AWindowThatStaysShutCostsTheAnswerNotTheConnection) {
  custom_ = [](const Request& request, Reply& reply) {
    if (request.path() == "/large") {
      reply.send({.status = 200, .body = std::string(100'000, 'x')});
    }
  };
  open({.write_timeout = 50ms});
  Http2Client caller(port(), {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1'000}}, {}, false);
  const auto& answer = caller.wait(caller.ask("/large"));
  EXPECT_EQ(answer.error, NGHTTP2_CANCEL);
  EXPECT_EQ(answer.body.size(), 1'000U);
  EXPECT_EQ(counters().http2_stalled.value(), 1U);
  EXPECT_EQ(counters().timeouts.value(), 1U);
  EXPECT_EQ(caller.wait(caller.ask("/")).status, "200");
}

TEST_F(Http2LimitsTest, ACallerThatDoesNotReadIsBoundedAndTimedOut) {
  custom_ = [](const Request&, Reply& reply) {
    reply.send({.status = 200, .body = std::string(1 << 20, 'x')});
  };
  open({.write_timeout = 100ms});
  testing::RawSocket caller = testing::RawSocket::to(port());
  std::string burst =
      std::string(testing::kPreface) +
      frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4", 2) + big_endian(INT32_MAX)) +
      frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1 << 30));
  for (uint32_t i = 0; i < 90; ++i) {
    burst += get(1 + 2 * i);
  }
  caller.send(burst);
  EXPECT_TRUE(eventually(
      [&] { return server_->open_connections() == 0 && counters().timeouts.value() != 0; }));
  EXPECT_TRUE(eventually([&] { return counters().buffered_bytes.value() == 0; }));
}

TEST_F(Http2LimitsTest, MalformedRequestsAreResetAndCounted) {
  const std::string start = std::string("\x82\x86", 2) + literal(":authority", "a");
  const std::vector<std::pair<std::string, std::string>> rows{
      {"no path", start},
      {"two paths", start + literal(":path", "/") + literal(":path", "/")},
      {"upper case", block("/") + literal("Upper", "1")},
      {"connection", block("/") + literal("connection", "close")},
      {"transfer-encoding", block("/") + literal("transfer-encoding", "chunked")},
      {"te", block("/") + literal("te", "gzip")},
      {"pseudo after regular", start + literal("x", "1") + literal(":path", "/")},
      {"unknown pseudo", block("/") + literal(":what", "1")},
      {"no host", std::string("\x82\x86", 2) + literal(":path", "/")},
      {"line break", block("/") + literal("x", "a\r\nb: c")},
      {"relative path", start + literal(":path", "x")},
      {"length of no body", block("/") + literal("content-length", "3")}};
  open();
  Http2Client caller(port());
  caller.flush();
  uint32_t stream = 1;
  for (const auto& [name, fields] : rows) {
    const uint64_t before = counters().http2_protocol.value();
    caller.socket.send(frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, stream, fields));
    EXPECT_TRUE(eventually([&] { return counters().http2_protocol.value() == before + 1; }))
        << name;
    stream += 2;
  }
  EXPECT_EQ(counters().requests.value(), 0U);
  caller.socket.send(
      frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, stream, block("/") + literal("host", "b")) +
      frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, stream + 2,
            block("/") + literal("host", "a")));
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 2; }));
  EXPECT_EQ(counters().bad_request.value(), 1U);
}

TEST_F(Http2LimitsTest, AMalformedRequestIsNoHeaderUnderWay) {
  open({.header_timeout = 30ms}, {.max_streams = 2});
  Http2Client caller(port());
  caller.flush();
  caller.socket.send(
      get(1, "/hold") +
      frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 3, block("/") + literal("Upper", "1")) +
      get(5));  // one too many
  ASSERT_TRUE(eventually([&] { return counters().http2_protocol.value() == 1; }));
  EXPECT_EQ(counters().http2_refused.value(), 1U);
  // One that does stall, later, is timed out: by then the others would have been.
  EXPECT_EQ(provoke(frame(NGHTTP2_HEADERS, 0, 1, block("/"))),
            "goaway:" + std::to_string(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_EQ(counters().timeouts.value(), 1U);
  on_worker([&] { held_.clear(); });
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 1; }));
}

TEST_F(Http2LimitsTest, BrokenFramesEndTheConnection) {
  const auto goaway = [](uint32_t code) { return "goaway:" + std::to_string(code); };
  open();
  EXPECT_EQ(provoke(frame(NGHTTP2_DATA, 0, 0, "x")), goaway(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_EQ(provoke(frame(NGHTTP2_HEADERS, kEndHeaders, 2, block("/"))),
            goaway(NGHTTP2_PROTOCOL_ERROR));
  EXPECT_EQ(provoke(frame(NGHTTP2_PING, 0, 0, "short")), goaway(NGHTTP2_FRAME_SIZE_ERROR));
  EXPECT_EQ(provoke(frame(NGHTTP2_HEADERS, kEndHeaders, 1, "\xff\xff\xff\xff\xff")),
            goaway(NGHTTP2_COMPRESSION_ERROR));
  EXPECT_EQ(provoke(frame(NGHTTP2_DATA, 0, 1, std::string(20'000, 'x'))),
            goaway(NGHTTP2_FRAME_SIZE_ERROR));
  EXPECT_EQ(provoke(frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(INT32_MAX))),
            goaway(NGHTTP2_FLOW_CONTROL_ERROR));
  EXPECT_EQ(counters().http2_protocol.value(), 6U);
  EXPECT_EQ(counters().requests.value(), 0U);
}

TEST_F(Http2LimitsTest, PaddingIsNoPartOfABody) {
  std::string body;
  custom_ = [&](const Request& request, Reply&) { body = request.body; };
  open();
  Http2Client caller(port());
  caller.flush();
  caller.socket.send(frame(NGHTTP2_HEADERS, kEndHeaders, 1, block("/", true)) +
                     frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1,
                           std::string("\x03") + "one" + std::string(3, '\0')) +
                     frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED | kEndStream, 1,
                           std::string("\x05") + "two" + std::string(5, '\0')));
  EXPECT_TRUE(eventually([&] { return counters().answers.value() == 1; }));
  EXPECT_EQ(body, "onetwo");
}

}  // namespace
}  // namespace spillway::net
