#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/client_fixture.h"
#include "net/gzip.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using base::CallError;
using base::CallPhase;
using testing::kOk;
using testing::RawListener;
using testing::RawSocket;
using ClientAnswersTest = testing::ClientFixture;

TEST_F(ClientAnswersTest, RequestsAreFramedAndAnswersReported) {
  std::string request;
  script([&] {
    RawSocket socket = listener_.accept();
    request = socket.receive_message();
    socket.send(kOk);
    socket.receive_all();
  });
  const TargetId target = add({});
  call(target, 7);
  EXPECT_TRUE(answers_.empty());
  run_until(1);
  EXPECT_EQ(request, "POST /bid HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(listener_.port()) +
                         "\r\nX-A: 1\r\nContent-Length: 12\r\n\r\nrequest-body");
  EXPECT_EQ(last().tag, 7U);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(last().result.status, 200);
  EXPECT_EQ(last().result.error, CallError::kNone);
  EXPECT_EQ(last().result.phase, CallPhase::kDone);
  EXPECT_EQ(last().result.sent_bytes, request.size());
  EXPECT_EQ(last().result.received_bytes, kOk.size());
  EXPECT_FALSE(last().result.reused);
  EXPECT_GT(last().result.elapsed(), 0ns);
  EXPECT_EQ(client_.pool(target).idle, 1U);
  client_.remove_target(target);
}

struct AnswerRow {
  const char* name;
  std::string bytes;
  CallError error;
  uint16_t status;
  std::string body;
  size_t idle;  ///< Connections kept afterwards.
};

std::vector<AnswerRow> answer_rows() {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string nul(1, '\0');
  return {
      {"length", ok + "Content-Length: 2\r\n\r\nok", CallError::kNone, 200, "ok", 1},
      {"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
       CallError::kNone, 200, "ok", 1},
      {"until close", ok + "\r\nok", CallError::kNone, 200, "ok", 0},
      {"1.0 until close", "HTTP/1.0 200 OK\r\n\r\nok", CallError::kNone, 200, "ok", 0},
      {"1.0 with length", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", CallError::kNone, 200,
       "ok", 0},
      {"connection close", ok + "Connection: close\r\nContent-Length: 2\r\n\r\nok",
       CallError::kNone, 200, "ok", 0},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", CallError::kNone, 204, "", 1},
      {"204 with zero length", "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", CallError::kNone,
       204, "", 1},
      {"204 with length and body", "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nhi",
       CallError::kNone, 204, "", 0},
      {"304 with length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
       CallError::kNone, 304, "", 1},
      {"redirect is an answer", "HTTP/1.1 302 F\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
       CallError::kNone, 302, "", 1},
      {"100 then answer", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nok",
       CallError::kNone, 200, "ok", 1},
      {"left-over bytes", ok + "Content-Length: 2\r\n\r\nokHTTP", CallError::kNone, 200, "ok", 0},
      {"too short", ok + "Content-Length: 3\r\n\r\nok", CallError::kReset, 200, "", 0},
      {"chunks cut", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", CallError::kReset, 200,
       "", 0},
      {"header cut", "HTTP/1.1 20", CallError::kReset, 0, "", 0},
      {"nothing", "", CallError::kReset, 0, "", 0},
      {"101", "HTTP/1.1 101 Switching\r\n\r\n", CallError::kProtocol, 101, "", 0},
      {"two lengths", ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", CallError::kProtocol,
       200, "", 0},
      {"bad chunk", ok + "Transfer-Encoding: chunked\r\n\r\nZZ\r\n", CallError::kProtocol, 200, "",
       0},
      {"length and coding", ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
       CallError::kProtocol, 200, "", 0},
      {"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", CallError::kProtocol, 0, "", 0},
      {"NUL in header", ok + "X: " + nul + "\r\n\r\n", CallError::kProtocol, 200, "", 0},
      {"large header", ok + "X: " + std::string(20'000, 'x') + "\r\n\r\n", CallError::kTooLarge,
       200, "", 0},
      {"endless header", ok + "X: " + std::string(200'000, 'x'), CallError::kTooLarge, 200, "", 0},
      {"large length", ok + "Content-Length: 70000\r\n\r\n", CallError::kTooLarge, 200, "", 0},
      {"large chunk", ok + "Transfer-Encoding: chunked\r\n\r\n11171\r\n", CallError::kTooLarge, 200,
       "", 0},
      {"large until close", ok + "\r\n" + std::string(80'000, 'x'), CallError::kTooLarge, 200, "",
       0},
      {"as large as may be", ok + "Content-Length: 65536\r\n\r\n" + std::string(65'536, 'x'),
       CallError::kNone, 200, std::string(65'536, 'x'), 1},
  };
}

TEST_F(ClientAnswersTest, EveryAnswerIsFramedAsTheRulesSay) {
  const std::vector<AnswerRow> rows = answer_rows();
  script([this, rows] {
    for (size_t i = 0; i < rows.size() * 2; ++i) {
      const AnswerRow& row = rows[i / 2];
      RawSocket socket = listener_.accept();
      socket.receive_message();
      if (i % 2 == 0) {
        socket.send(row.bytes);
      } else {  // in two pieces
        socket.send(std::string_view(row.bytes).substr(0, row.bytes.size() / 2));
        socket.send(std::string_view(row.bytes).substr(row.bytes.size() / 2));
      }
      socket.shut_write();
      socket.receive_all();
    }
  });
  for (size_t i = 0; i < rows.size() * 2; ++i) {
    const AnswerRow& row = rows[i / 2];
    const TargetId target = add({.answer_bytes = 65'536});
    call(target);
    run_until(1);
    EXPECT_EQ(last().result.error, row.error) << row.name;
    EXPECT_EQ(last().result.status, row.status) << row.name;
    EXPECT_EQ(last().body, row.body) << row.name;
    EXPECT_FALSE(last().draining);
    // Kept connections meet the peer's FIN later: only what is never kept can be checked.
    if (row.idle == 0) {
      EXPECT_EQ(client_.pool(target).idle, 0U) << row.name;
    }
    client_.remove_target(target);
  }
}

std::string expected_of(std::string_view row) {
  std::ifstream file(SPILLWAY_VECTORS "/expect.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(row) && line.size() > row.size() && line[row.size()] == '\t') {
      return line.substr(row.size() + 1);
    }
  }
  return {};
}

TEST_F(ClientAnswersTest, HostileAnswersOfTheSharedVectorsEndAsExpected) {
  const std::filesystem::path wire = SPILLWAY_VECTORS "/hostile/wire";
  if (!std::filesystem::exists(wire)) {
    std::cout << "skipped: no shared vectors at " << wire << "\n";
    GTEST_SKIP();
  }
  size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(wire)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".http") {
      continue;
    }
    ++rows;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::thread peer([&] {
      RawSocket socket = listener_.accept();
      socket.receive_message();
      socket.send(bytes);
      socket.shut_write();
      socket.receive_all();
    });
    const TargetId target = add({});
    call(target);
    run_until(1);
    const std::string expected = expected_of("hostile/wire/" + name);
    const base::CallResult& result = last().result;
    if (expected == "win") {
      EXPECT_EQ(result.error, CallError::kNone) << name;
      EXPECT_EQ(result.status, 200) << name;
      EXPECT_TRUE(last().body.starts_with("{") && last().body.ends_with("}")) << name;
    } else if (expected == "nobid") {
      EXPECT_EQ(result.error, CallError::kNone) << name;
      EXPECT_EQ(result.status, 204) << name;
    } else if (expected == "overload") {
      EXPECT_TRUE(result.status == 429 || result.status == 503) << name;
      EXPECT_GE(result.retry_after, 1s) << name;
    } else if (expected == "bad" || expected == "win|bad") {
      EXPECT_NE(result.error, CallError::kNone) << name;
    } else {
      ADD_FAILURE() << name << " expects " << expected;
    }
    client_.remove_target(target);
    peer.join();
  }
  EXPECT_GE(rows, 16U);
}

TEST_F(ClientAnswersTest, RetryAfterIsReadAndClamped) {
  const std::vector<std::pair<std::string, base::Duration>> rows = {
      {"7", 7s},
      {"0", 0s},
      {"100000", 300s},
      {"-5", 0s},
      {"soon", 0s},
      {"99999999999999999999", 300s},
      {"Wed, 21 Oct 2015 07:28:00 GMT", 0s},
      {"Fri, 31 Dec 2100 23:59:59 GMT", 300s}};
  script([this, rows] {
    RawSocket socket = listener_.accept();
    for (const auto& [value, expected] : rows) {
      socket.receive_message();
      socket.send("HTTP/1.1 503 Busy\r\nRetry-After: " + value + "\r\nContent-Length: 0\r\n\r\n");
    }
    socket.receive_all();
  });
  const TargetId target = add({});
  for (const auto& [value, expected] : rows) {
    call(target);
    run_until(1);
    EXPECT_EQ(last().result.status, 503);
    EXPECT_EQ(last().result.retry_after, expected) << value;
  }
  client_.remove_target(target);
}

TEST_F(ClientAnswersTest, TellsTheNumberOfTheHeaderThatIsWanted) {
  struct Numbers final : CallListener {
    explicit Numbers(CallListener& own) : test(own) {}

    void on_number(uint64_t /*tag*/, uint64_t number) override { told = number; }

    void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                   bool draining) override {
      static_cast<CallListener&>(test).on_answer(tag, result, body, draining);
    }

    void on_tail(uint64_t /*tag*/, const base::CallResult& /*result*/) override {}

    CallListener& test;
    uint64_t told = 0;
  } numbers{*this};

  const std::vector<std::pair<std::string, uint64_t>> rows = {
      {"X-Consul-Index: 42", 42}, {"x-consul-index: 7", 7}, {"X-Consul-Index: 4x", 0},
      {"X-Other: 1", 0},          {"X-Consul-Index: ", 0},  {"X-Consul-Index: -1", 0}};
  script([this, rows] {
    RawSocket socket = listener_.accept();
    for (const auto& [header, expected] : rows) {
      socket.receive_message();
      socket.send("HTTP/1.1 200 OK\r\n" + header + "\r\nContent-Length: 0\r\n\r\n");
    }
    socket.receive_all();
  });
  const TargetId target = add({.number_header = "X-Consul-Index"});
  for (const auto& [header, expected] : rows) {
    numbers.told = 0;
    client_.call(target, "GET", "/", "", {}, {.answer_by = reactor_.refresh() + 10s}, 1, numbers);
    run_until(1);
    EXPECT_EQ(numbers.told, expected) << header;
  }
  client_.remove_target(target);
}

TEST_F(ClientAnswersTest, LargeRequestsAreCompressedForAPeerThatTakesGzip) {
  std::vector<std::string> requests;
  script([&] {
    RawSocket socket = listener_.accept();
    for (int i = 0; i < 3; ++i) {
      requests.push_back(socket.receive_message());
      socket.send(kOk);
    }
    socket.receive_all();
  });
  const std::string large(4'000, 'b');
  const TargetId target = add({.gzip = true});
  for (const size_t size : {size_t{4'000}, kGzipFrom - 1}) {
    const std::vector<std::string_view> body{std::string_view(large).substr(0, size)};
    client_.call(target, "POST", "/", "", body, {.answer_by = reactor_.refresh() + 10s}, 1, *this);
    run_until(1);
    EXPECT_EQ(last().result.error, CallError::kNone);
  }
  client_.change_target(target, {.host = "127.0.0.1", .port = listener_.port()});
  const std::vector<std::string_view> body{large};
  client_.call(target, "POST", "/", "", body, {.answer_by = reactor_.refresh() + 10s}, 1, *this);
  run_until(1);
  client_.remove_target(target);
  peer_.join();
  ASSERT_EQ(requests.size(), 3U);
  const auto body_of = [](const std::string& request) {
    return request.substr(request.find("\r\n\r\n") + 4);
  };
  EXPECT_NE(requests[0].find("Content-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_LT(body_of(requests[0]).size(), 200U);
  BufferPool buffers(1 << 20);
  Inflater inflater;
  EXPECT_EQ(inflater.inflate(body_of(requests[0]), 1 << 20, buffers).text, large);
  EXPECT_EQ(requests[1].find("Content-Encoding"), std::string::npos) << "too small to gain";
  EXPECT_NE(requests[1].find("Accept-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_EQ(requests[2].find("-Encoding"), std::string::npos) << "a peer that takes none";
}

TEST_F(ClientAnswersTest, WhatOneReadDoesNotHoldIsReadThoughThePeerSaysNoMore) {
  const std::string big(700 * 1024, 'a');
  script([&] {
    for (int connection = 0; connection < 2; ++connection) {
      RawSocket socket = listener_.accept();
      socket.receive_message();
      const bool ends = connection == 1;  // told together with the last bytes
      socket.send(
          "HTTP/1.1 200 OK\r\n" +
          (ends ? std::string() : "Content-Length: " + std::to_string(big.size()) + "\r\n") +
          (ends ? "" : "Connection: close\r\n") + "\r\n" + big);
      if (!ends) {
        socket.receive_all();
      }
    }
  });
  const TargetId target = add({});
  for (uint64_t tag = 1; tag <= 2; ++tag) {
    call(target, tag);
    run_until(1);
    EXPECT_EQ(last().result.error, CallError::kNone);
    EXPECT_EQ(last().body.size(), big.size());
  }
}

TEST_F(ClientAnswersTest, LargeRequestsAreFinishedWhenThePeerReads) {
  size_t received = 0;
  script([&] {
    RawSocket socket = listener_.accept();
    received = socket.receive_message().size();
    socket.send(kOk);
    socket.receive_all();
  });
  const TargetId target = add({});
  const std::string big(30 << 20, 'b');
  const std::vector<std::string_view> body{big};
  client_.call(target, "POST", "/", "", body, {.answer_by = reactor_.refresh() + 10s}, 1, *this);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  EXPECT_GT(received, big.size());
  client_.remove_target(target);
}

}  // namespace
}  // namespace spillway::net
