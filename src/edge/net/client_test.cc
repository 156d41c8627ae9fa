#include "net/client.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/test_kit.h"
#include "net/timer_wheel.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using base::CallError;
using base::CallPhase;
using testing::RawListener;
using testing::RawSocket;

struct Answer {
  uint64_t tag;
  base::CallResult result;
  std::string body;
  bool draining;
  bool tail;
};

/// A client on the test's own thread; the peer is a script on another.
class ClientTest : public ::testing::Test, public CallListener, private Timer {
 protected:
  ~ClientTest() override {
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
  Client client_{reactor_};
  std::vector<Answer> answers_;
  size_t wanted_ = SIZE_MAX;
  bool running_ = false;
  TargetId targets_ = 0;
};

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_F(ClientTest, RequestsAreFramedAndAnswersReported) {
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

TEST_F(ClientTest, EveryAnswerIsFramedAsTheRulesSay) {
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

TEST_F(ClientTest, HostileAnswersOfTheSharedVectorsEndAsExpected) {
  const std::filesystem::path wire = SPILLWAY_VECTORS "/hostile/wire";
  if (!std::filesystem::exists(wire)) {
    std::cout << "skipped: no shared vectors at " << wire << "\n";
    GTEST_SKIP();
  }
  size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(wire)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".http" || name.find("gzip") != std::string::npos) {
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
  EXPECT_GE(rows, 14U);
}

TEST_F(ClientTest, AStaleConnectionIsReplacedOnceAndNobodyNotices) {
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    socket.send(kOk);
    socket.receive_message();  // the second request arrives, then the connection dies
    socket.reset_connection();
    RawSocket fresh = listener_.accept();
    EXPECT_TRUE(fresh.receive_message().ends_with("request-body"));
    fresh.send(kOk);
    fresh.receive_message();
    fresh.reset_connection();  // ... and again, but this call's retry dies as well
    RawSocket third = listener_.accept();
    third.receive_message();
    third.reset_connection();
  });
  const TargetId target = add({});
  call(target);
  run_until(1);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNone);
  EXPECT_TRUE(last().result.retried);
  EXPECT_FALSE(last().result.reused);
  call(target, 3);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kReset);
  EXPECT_EQ(last().result.phase, CallPhase::kFirstByte);
  EXPECT_TRUE(last().result.retried);
  EXPECT_EQ(client_.counters(target).stale_retries.value(), 2U);
}

TEST_F(ClientTest, AFreshConnectionThatDiesIsNotRetried) {
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    socket.reset_connection();
  });
  const TargetId target = add({});
  call(target);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kReset);
  EXPECT_EQ(last().result.phase, CallPhase::kFirstByte);
  EXPECT_FALSE(last().result.retried);
}

TEST_F(ClientTest, AnUnaskedSecondAnswerPoisonsTheConnectionNotTheNextCall) {
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    socket.send(kOk);
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    EXPECT_EQ(socket.receive_all(), "");
    RawSocket next = listener_.accept();
    next.receive_message();
    next.send(kOk);
    next.receive_all();
  });
  const TargetId target = add({});
  call(target);
  run_until(1);
  EXPECT_TRUE(run_while_not([&] { return client_.counters(target).poisoned.value() == 1; }));
  EXPECT_EQ(client_.pool(target).idle, 0U);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  client_.remove_target(target);
}

TEST_F(ClientTest, ALateAnswerDrainsAndItsConnectionServesAgain) {
  std::promise<void> go;
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    go.get_future().wait();
    socket.send(kOk);
    socket.receive_message();
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
    socket.receive_all();
  });
  const TargetId target = add({});
  call(target, 1, {.answer_by = reactor_.refresh() + 30ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(last().result.phase, CallPhase::kFirstByte);
  EXPECT_TRUE(last().draining);
  EXPECT_GE(last().result.elapsed(), 30ms);
  EXPECT_EQ(client_.pool(target).draining, 1U);
  go.set_value();
  run_until(1);
  EXPECT_TRUE(last().tail);
  EXPECT_EQ(last().result.error, CallError::kNone);
  EXPECT_EQ(last().result.status, 200);
  EXPECT_EQ(client_.pool(target).idle, 1U);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().body, "new");
  EXPECT_TRUE(last().result.reused);
  EXPECT_EQ(client_.counters(target).tails_drained.value(), 1U);
  client_.remove_target(target);
}

TEST_F(ClientTest, TailsAreCutByTimeAndByBytes) {
  std::promise<void> go;
  script([&] {
    RawSocket silent = listener_.accept();
    silent.receive_message();
    silent.receive_all();
    RawSocket wordy = listener_.accept();
    wordy.receive_message();
    wordy.send("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
    const std::string part(1000, 'x');
    wordy.send(part);
    go.get_future().wait();
    while (wordy.send(part)) {
    }
  });
  const TargetId target = add({.tail_time = 20ms});
  call(target, 1, {.answer_by = reactor_.refresh() + 20ms});
  run_until(2);
  EXPECT_TRUE(last().tail);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_GE(last().result.elapsed(), 40ms);
  const TargetId wordy = add({.tail_time = 10s, .tail_bytes = 10'000});
  const uint64_t id = call(wordy, 2);
  ASSERT_TRUE(run_while_not([&] { return client_.counters(wordy).received_bytes.value() > 0; }));
  client_.cancel(id);
  go.set_value();
  EXPECT_EQ(last().result.error, CallError::kCancelled);
  EXPECT_EQ(last().result.phase, CallPhase::kBody);
  EXPECT_TRUE(last().draining);
  run_until(1);
  EXPECT_TRUE(last().tail);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(client_.counters(wordy).tails_cut.value(), 1U);
  EXPECT_EQ(client_.pool(wordy).draining, 0U);
}

TEST_F(ClientTest, AtMostAQuarterOfTheConnectionsDrain) {
  const TargetId target = add({.max_connections = 8, .max_handshakes = 8});
  std::vector<RawSocket> sockets;
  for (uint64_t i = 0; i < 4; ++i) {
    call(target, i, {.answer_by = reactor_.refresh() + 60ms});
  }
  run_until(4);
  const auto draining = std::count_if(answers_.begin(), answers_.end(),
                                      [](const Answer& answer) { return answer.draining; });
  EXPECT_EQ(draining, 2);
  EXPECT_EQ(client_.pool(target).draining, 2U);
  EXPECT_EQ(client_.pool(target).busy, 0U);
  EXPECT_EQ(client_.counters(target).connections_open.value(), 2U);
}

TEST_F(ClientTest, DeadlinesEndACallInEachPhase) {
  RawListener full(0);  // one connection fills its queue: later ones stay in the handshake
  const RawSocket first = RawSocket::to(full.port());
  TargetSettings connecting{.host = "127.0.0.1", .port = full.port()};
  const TargetId stuck = add(connecting);
  call(stuck, 1, {.connect_by = reactor_.refresh() + 20ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(last().result.phase, CallPhase::kConnect);
  EXPECT_FALSE(last().draining);

  script([&] {
    RawSocket silent = listener_.accept();
    silent.receive_message();
    RawSocket half = listener_.accept();
    half.receive_message();
    half.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    silent.receive_all();
    half.receive_all();
  });
  const TargetId target = add({});
  call(target, 2, {.first_byte_by = reactor_.refresh() + 30ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(last().result.phase, CallPhase::kFirstByte);
  call(target, 3, {.first_byte_by = reactor_.refresh() + 5s, .answer_by = reactor_.now() + 100ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(last().result.phase, CallPhase::kBody);
  EXPECT_EQ(last().result.status, 200);
  client_.remove_target(target);
}

TEST_F(ClientTest, ARefusedConnectionIsSaidSoAndNotFromInsideTheCall) {
  const uint16_t port = listener_.port();
  listener_.close();
  const TargetId target = add({.host = "127.0.0.1", .port = port});
  for (uint64_t i = 0; i < 20; ++i) {
    call(target, i);
  }
  EXPECT_TRUE(answers_.empty());
  run_until(20);
  for (const Answer& answer : answers_) {
    EXPECT_EQ(answer.result.error, CallError::kRefused);
    EXPECT_EQ(answer.result.phase, CallPhase::kConnect);
  }
  EXPECT_EQ(client_.pool(target).connecting, 0U);
}

TEST_F(ClientTest, WithAllConnectionsInUseACallIsRefusedAtOnce) {
  const TargetId target = add({.max_connections = 2});
  call(target, 1);
  call(target, 2);
  call(target, 3);
  EXPECT_TRUE(answers_.empty());
  run_until(1);
  EXPECT_EQ(last().tag, 3U);
  EXPECT_EQ(last().result.error, CallError::kNoConnection);
  EXPECT_EQ(last().result.phase, CallPhase::kNotSent);
  EXPECT_EQ(client_.counters(target).no_connection.value(), 1U);
}

TEST_F(ClientTest, CallsWaitInOrderBehindBusyHandshakes) {
  script([&] {
    RawSocket socket = listener_.accept();
    for (int i = 0; i < 3; ++i) {
      socket.receive_message();
      socket.send(kOk);
    }
    socket.receive_all();
  });
  const TargetId target = add({.max_connections = 100, .max_handshakes = 1});
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 70; ++i) {
    ids.push_back(call(target, i));
  }
  EXPECT_EQ(client_.pool(target).connecting, 1U);
  run_until(6);
  EXPECT_EQ(client_.counters(target).no_connection.value(), 6U);  // 64 wait
  for (const Answer& answer : answers_) {
    EXPECT_GE(answer.tag, 64U);
  }
  for (uint64_t i = 1; i < 63; ++i) {
    client_.cancel(ids[i]);
    EXPECT_EQ(last().result.error, CallError::kCancelled);
    EXPECT_EQ(last().result.phase, CallPhase::kNotSent);
  }
  answers_.clear();
  run_until(2);
  EXPECT_EQ(answers_[0].tag, 0U);
  EXPECT_EQ(answers_[1].tag, 63U);
  client_.remove_target(target);
}

TEST_F(ClientTest, IdleConnectionsCloseInTimeAndAsThePeerSays) {
  std::string ends;
  script([&] {
    RawSocket idle = listener_.accept();
    idle.receive_message();
    idle.send(kOk);
    EXPECT_EQ(idle.receive_all(), "");
    RawSocket polite = listener_.accept();
    polite.receive_message();
    polite.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60, max=1\r\nContent-Length: 0\r\n\r\n");
    polite.receive_message();
    polite.send(kOk);
    EXPECT_EQ(polite.receive_all(), "");
    RawSocket closing = listener_.accept();
    closing.receive_message();
    closing.send(kOk);
  });
  const TargetId target = add({.idle_timeout = 20ms});
  call(target);
  run_until(1);
  EXPECT_TRUE(run_while_not([&] { return client_.counters(target).idle_closed.value() == 1; }));
  const TargetId patient = add({});
  call(patient);
  run_until(1);
  call(patient);
  run_until(1);
  EXPECT_EQ(client_.pool(patient).idle, 0U);
  call(patient);  // the peer closes at once after its answer
  run_until(1);
  EXPECT_TRUE(run_while_not([&] { return client_.pool(patient).idle == 0; }));
}

TEST_F(ClientTest, RetryAfterIsReadAndClamped) {
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

TEST_F(ClientTest, NamesAreResolvedInTheBackground) {
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    socket.send(kOk);
    socket.receive_all();
  });
  const TargetId target = add({.host = "localhost", .port = listener_.port()});
  call(target);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  EXPECT_GE(client_.addresses(target), 1U);
  client_.remove_target(target);
}

TEST_F(ClientTest, ALookUpOfAPlaceThatATargetLeftIsForgotten) {
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    socket.send(kOk);
    socket.receive_all();
  });
  RawListener old_place;
  const TargetId moved = add({.host = "localhost", .port = old_place.port()});
  client_.change_target(moved, {.host = "127.0.0.1", .port = listener_.port()});
  // Asked for after the other and for the same name: answered after it, or with it.
  const TargetId other = add({.host = "localhost", .port = old_place.port()});
  ASSERT_TRUE(run_while_not([&] { return client_.addresses(other) > 0; }));
  call(moved, 1, {.answer_by = reactor_.refresh() + 2s});
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  client_.remove_target(moved);
  client_.remove_target(other);
}

TEST_F(ClientTest, ANameWithoutAddressIsADnsError) {
  const TargetId target = add({.host = "no-such-host.invalid", .port = 80});
  call(target, 1, {.answer_by = reactor_.refresh() + 300ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kDns);
  EXPECT_EQ(last().result.phase, CallPhase::kNotSent);
}

TEST_F(ClientTest, LargeRequestsAreFinishedWhenThePeerReads) {
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

TEST_F(ClientTest, ARemovedTargetCancelsItsCalls) {
  const TargetId target = add({});
  call(target, 1);
  client_.remove_target(target);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(last().result.error, CallError::kCancelled);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNoConnection);
}

}  // namespace
}  // namespace spillway::net
