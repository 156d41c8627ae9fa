// Which of its addresses a target uses, and how it learns them.
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

using ClientAddressesTest = testing::NamesFixture;

size_t used(const std::vector<size_t>& counts) {
  return static_cast<size_t>(
      std::count_if(counts.begin(), counts.end(), [](size_t count) { return count > 0; }));
}

TEST_F(ClientAddressesTest, TwoOfManyAddressesServeAndMoreJoinAsTheirSharesFill) {
  std::vector<RawListener> listeners(6);
  name("many", listeners);
  const TargetId target = add({.host = "many", .max_connections = 12, .max_handshakes = 12});
  ASSERT_TRUE(run_while_not([&] { return client_.addresses(target) == 6; }));
  connect(target, 4);  // a share is 12 / 6
  const std::vector<size_t> few = take_callers(listeners);
  EXPECT_EQ(used(few), 2U);
  EXPECT_EQ(*std::max_element(few.begin(), few.end()), 2U);
  call(target);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 5; }));
  const std::vector<size_t> more = take_callers(listeners);
  EXPECT_EQ(used(more), 1U);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_FALSE(few[i] > 0 && more[i] > 0) << "an address over its share";
  }
  for (int i = 0; i < 7; ++i) {
    call(target);
  }
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 12; }));
  const std::vector<size_t> rest = take_callers(listeners);
  for (size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(few[i] + more[i] + rest[i], 2U) << "all in use: evenly";
  }
}

TEST_F(ClientAddressesTest, TheOrderOfAddressesDoesNotMatterAndThoseThatVanishAreLeft) {
  std::vector<RawListener> listeners(5);
  name("many", listeners);
  const TargetId target =
      add({.host = "many", .max_connections = 10, .max_handshakes = 10, .resolve_every = 2ms});
  ASSERT_TRUE(run_while_not([&] { return client_.addresses(target) == 5; }));
  connect(target, 2);
  const std::vector<size_t> first = take_callers(listeners);
  std::vector<SocketAddress>& table = names_->table["many"];
  std::rotate(table.begin(), table.begin() + 2, table.end());
  const size_t asked = names_->asked["many"];
  ASSERT_TRUE(run_while_not([&] { return names_->asked["many"] >= asked + 3; }));
  EXPECT_EQ(client_.pool(target).busy, 2U);
  call(target);
  call(target);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 4; }));
  EXPECT_EQ(take_callers(listeners), first);

  for (RawSocket& socket : sockets_) {
    socket.send(kOk);
  }
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).idle == 4; }));
  const auto kept = static_cast<size_t>(std::find(first.begin(), first.end(), 1) - first.begin());
  table = literal_address("127.0.0.1", listeners[kept].port());
  EXPECT_TRUE(run_while_not([&] { return client_.pool(target).idle == 2; }));
  EXPECT_EQ(client_.addresses(target), 1U);
}

TEST_F(ClientAddressesTest, ClientsSpreadOverAllAddresses) {
  std::vector<RawListener> listeners(4);
  name("many", listeners);
  std::vector<size_t> total(listeners.size());
  for (int i = 0; i < 100; ++i) {
    Client client(reactor_, {.names = names_});
    const TargetId target = client.add_target({.host = "many"});
    client.call(target, "GET", "/", "", {}, {.answer_by = reactor_.refresh() + 10s}, 1, *this);
    ASSERT_TRUE(run_while_not([&] { return client.pool(target).busy == 1; }));
    const std::vector<size_t> counts = take_callers(listeners);
    std::transform(total.begin(), total.end(), counts.begin(), total.begin(), std::plus<>());
    sockets_.clear();
  }
  EXPECT_EQ(used(total), listeners.size());
}

TEST_F(ClientAddressesTest, DeadAddressesArePassedOverWhileOneLives) {
  std::vector<RawListener> dead(2);
  name("half-dead", dead);
  names_->table["half-dead"].push_back(literal_address("127.0.0.1", listener_.port()).front());
  for (RawListener& listener : dead) {
    listener.close();
  }
  script([this] {
    for (int i = 0; i < 40; ++i) {
      RawSocket socket = listener_.accept();
      socket.receive_message();
      socket.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
      socket.receive_all();
    }
  });
  for (int i = 0; i < 4; ++i) {  // each target connects anew for each call
    const TargetId target = add({.host = "half-dead"});
    for (int j = 0; j < 10; ++j) {
      call(target);
      run_until(1);
      EXPECT_EQ(last().result.error, CallError::kNone);
      EXPECT_EQ(last().body, "ok");
    }
    EXPECT_LT(client_.counters(target).handshakes_failed.value(), 10U);
  }
}

TEST_F(ClientAddressesTest, ABlackHoleHoldsItsHandshakeNoLongerThanSaid) {
  const RawListener full(0);  // one connection fills its queue: later ones stay in the handshake
  const RawSocket first = RawSocket::to(full.port());
  const TargetId target = add({.host = "127.0.0.1", .port = full.port(), .max_handshakes = 1});
  const base::Instant began = reactor_.refresh();
  call(target, 1, {.connect_by = began + 20ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_EQ(client_.pool(target).connecting, 1U) << "late is better than never";
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).connecting == 0; }));
  const base::Duration held = reactor_.refresh() - began;
  EXPECT_GE(held, 250ms);
  EXPECT_LT(held, 1900ms);
  EXPECT_EQ(client_.counters(target).handshakes_failed.value(), 1U);
}

TEST_F(ClientAddressesTest, FailedLookUpsKeepTheStaleAddresses) {
  name_the_listener("fading");
  serve(1);
  const TargetId target = add({.host = "fading", .resolve_every = 1ms});
  call(target);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  names_->table.clear();
  const size_t asked = names_->asked["fading"];
  ASSERT_TRUE(run_while_not([&] { return names_->asked["fading"] >= asked + 3; }));
  EXPECT_EQ(client_.addresses(target), 1U);
  call(target);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  EXPECT_TRUE(last().result.reused);
  client_.remove_target(target);
}

TEST_F(ClientAddressesTest, ANameThatDoesNotResolveIsADnsErrorUntilItDoes) {
  serve(1);
  const TargetId target = add({.host = "late", .resolve_every = 1ms});
  call(target, 1);  // before the look-up has ended
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kDns);
  EXPECT_EQ(last().result.phase, CallPhase::kNotSent);
  call(target, 2);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kDns);
  name_the_listener("late");
  ASSERT_TRUE(run_while_not([&] { return client_.addresses(target) == 1; }));
  call(target, 3);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  client_.remove_target(target);
}

TEST_F(ClientAddressesTest, ALookUpThatNeverEndsCostsACallItsConnectTimeOnly) {
  names_->held = true;
  const TargetId target = add({.host = "lost"});
  call(target, 1, {.connect_by = reactor_.refresh() + 20ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kDns);
  EXPECT_EQ(last().result.phase, CallPhase::kNotSent);
  EXPECT_EQ(names_->asked["lost"], 1U);
}

TEST_F(ClientAddressesTest, AnEndedClientForgetsItsLookUps) {
  names_->held = true;
  {
    Client client(reactor_, {.names = names_});
    client.add_target({.host = "unanswered"});
  }
  ASSERT_EQ(names_->waiting.size(), 1U);
  names_->answer_one();
  turn();  // reads nothing that is gone, under the address sanitizer
  EXPECT_TRUE(names_->waiting.empty());
}

class ClientResolverTest : public testing::ClientFixture {};

TEST_F(ClientResolverTest, TheProcessesResolverFindsLocalhost) {
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

}  // namespace
}  // namespace spillway::net
