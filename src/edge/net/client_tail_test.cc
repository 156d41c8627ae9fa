#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
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
using ClientTailTest = testing::ClientFixture;

TEST_F(ClientTailTest, ALateAnswerDrainsAndItsConnectionServesAgain) {
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

TEST_F(ClientTailTest, TailsAreCutByTimeAndByBytes) {
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

TEST_F(ClientTailTest, AtMostAQuarterOfTheConnectionsDrain) {
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

TEST_F(ClientTailTest, DeadlinesEndACallInEachPhase) {
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

}  // namespace
}  // namespace spillway::net
