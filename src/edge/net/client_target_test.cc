// Changes of a target, its end, and what its calls may cost.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/client_fixture.h"
#include "net/names_fixture.h"
#include "net/resolver.h"
#include "net/test_kit.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using base::CallError;
using base::CallPhase;
using testing::Answer;
using testing::kOk;
using testing::RawListener;
using testing::RawSocket;

using ClientTargetTest = testing::NamesFixture;

TEST_F(ClientTargetTest, AChangedTargetFinishesItsCallsAndCallsTheNewPlace) {
  RawListener elsewhere;
  const TargetId target = add({});
  call(target, 1);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 1; }));
  RawSocket old_peer = listener_.accept();
  EXPECT_TRUE(old_peer.receive_message().ends_with("request-body"));
  client_.change_target(target, {.host = "127.0.0.1", .port = elsewhere.port()});
  call(target, 2);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 2; }));
  RawSocket new_peer = elsewhere.accept();
  EXPECT_NE(new_peer.receive_message().find(":" + std::to_string(elsewhere.port())),
            std::string::npos);
  old_peer.send(kOk);
  run_until(1);
  EXPECT_EQ(last().tag, 1U);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(old_peer.receive_all(), "") << "not kept";
  EXPECT_FALSE(old_peer.timed_out());
  new_peer.send(kOk);
  run_until(1);
  EXPECT_EQ(last().tag, 2U);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(client_.pool(target).idle, 1U);
}

TEST_F(ClientTargetTest, AChangeThatStaysInPlaceKeepsTheConnections) {
  serve(1);
  const TargetId target = add({});
  call(target);
  run_until(1);
  client_.change_target(target,
                        {.host = "127.0.0.1", .port = listener_.port(), .max_connections = 1});
  call(target);
  call(target, 2);
  run_until(2);
  EXPECT_TRUE(answers_[1].result.error == CallError::kNoConnection ||
              answers_[2].result.error == CallError::kNoConnection)
      << "the new limit counts";
  EXPECT_EQ(client_.counters(target).reused.value(), 1U);
  EXPECT_EQ(client_.counters(target).connects.value(), 1U);
  client_.remove_target(target);
}

TEST_F(ClientTargetTest, ALookUpOfTheHostBeforeAChangeIsForgotten) {
  names_->held = true;
  std::vector<RawListener> wrong(3);
  name("before", wrong);
  name_the_listener("after");
  serve(1);
  const TargetId target = add({.host = "before"});
  call(target, 1);
  client_.change_target(target, {.host = "after"});
  ASSERT_EQ(names_->waiting.size(), 2U);
  names_->answer_one();
  turn();
  EXPECT_EQ(client_.addresses(target), 0U);
  names_->answer_one();
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(client_.addresses(target), 1U);
  EXPECT_EQ(take_callers(wrong), std::vector<size_t>(wrong.size()));
  client_.remove_target(target);
}

TEST_F(ClientTargetTest, ARemovedTargetCancelsItsCalls) {
  const TargetId target = add({});
  call(target, 1);
  client_.remove_target(target);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(last().result.error, CallError::kCancelled);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNoConnection);
}

TEST_F(ClientTargetTest, RemovalSettlesBusyCallsAndTails) {
  const TargetId target = add({.tail_time = 10s});
  call(target, 1, {.answer_by = reactor_.refresh() + 20ms});
  run_until(1);
  ASSERT_TRUE(last().draining);
  call(target, 2);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 1; }));
  client_.remove_target(target);
  ASSERT_EQ(answers_.size(), 3U);
  for (const Answer& answer : {answers_[1], answers_[2]}) {
    EXPECT_EQ(answer.tag, answer.tail ? 1U : 2U);
    EXPECT_EQ(answer.result.error, answer.tail ? CallError::kTimeout : CallError::kCancelled);
    EXPECT_FALSE(answer.draining);
  }
  EXPECT_NE(answers_[1].tail, answers_[2].tail);
  EXPECT_EQ(client_.counters(target).connections_open.value(), 0U);
  EXPECT_EQ(client_.counters(target).tails_cut.value(), 1U);
}

TEST_F(ClientTargetTest, ATargetMayBeRemovedFromInsideAnAnswer) {
  serve(1);
  const TargetId target = add({.max_connections = 1});
  when_answered_ = [&] { client_.remove_target(target); };
  call(target);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(client_.counters(target).connections_open.value(), 0U);
}

class ClientBudgetTest : public testing::ClientFixture {
 protected:
  ClientBudgetTest() : testing::ClientFixture({.worker_bytes = 512 * 1024}) {}
};

TEST_F(ClientBudgetTest, CallsOverTheWorkersBytesAreRefusedAndTheNextAreNot) {
  script([&] {
    RawSocket socket = listener_.accept();
    socket.receive_message();
    socket.send(kOk);
    socket.receive_all();
  });
  const TargetId target = add({});
  const std::string big(600 * 1024, 'b');
  const std::vector<std::string_view> body{big};
  client_.call(target, "POST", "/", "", body, {.answer_by = reactor_.refresh() + 10s}, 1, *this);
  EXPECT_TRUE(answers_.empty());
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNoBudget);
  EXPECT_EQ(last().result.phase, CallPhase::kNotSent);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  client_.remove_target(target);
}

}  // namespace
}  // namespace spillway::net
