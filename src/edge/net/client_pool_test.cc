#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/client.h"
#include "net/client_fixture.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using base::CallError;
using base::CallPhase;
using testing::Answer;
using testing::kOk;
using testing::RawListener;
using testing::RawSocket;
using ClientPoolTest = testing::ClientFixture;

TEST_F(ClientPoolTest, AStaleConnectionIsReplacedOnceAndNobodyNotices) {
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

TEST_F(ClientPoolTest, AFreshConnectionThatDiesIsNotRetried) {
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

TEST_F(ClientPoolTest, AnUnaskedSecondAnswerPoisonsTheConnectionNotTheNextCall) {
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

TEST_F(ClientPoolTest, ARefusedConnectionIsSaidSoAndNotFromInsideTheCall) {
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

TEST_F(ClientPoolTest, WithAllConnectionsInUseACallIsRefusedAtOnce) {
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

TEST_F(ClientPoolTest, CallsWaitInOrderBehindBusyHandshakesAndThenForNobody) {
  script([&] {
    RawSocket first = listener_.accept();
    first.receive_message();
    RawSocket second = listener_.accept();  // opened though the first has not answered
    second.receive_message();
    first.send(kOk);
    second.send(kOk);
    first.receive_all();
    second.receive_all();
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
  EXPECT_EQ(answers_[0].tag + answers_[1].tag, 63U);
  EXPECT_EQ(client_.counters(target).connects.value(), 2U);
  client_.remove_target(target);
}

TEST_F(ClientPoolTest, IdleConnectionsCloseInTimeAndAsThePeerSays) {
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

}  // namespace
}  // namespace spillway::net
