// A client that is told which address takes a call.
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/client.h"
#include "net/client_addresses.h"
#include "net/host_choice.h"
#include "net/names_fixture.h"
#include "net/resolver.h"
#include "net/test_kit.h"

namespace spillway::net {
namespace {

using namespace std::chrono_literals;
using base::CallError;
using testing::kOk;
using testing::RawListener;
using testing::RawSocket;

/// Does as the test says, and keeps the books.
class ToldChoice final : public HostChoice {
 public:
  void set_addresses(std::span<const SocketAddress> addresses) override {
    known.assign(addresses.begin(), addresses.end());
  }

  Standing standing() override { return now; }

  size_t choose(uint64_t among) override {
    return (among >> wanted & 1) != 0 ? wanted : static_cast<size_t>(std::countr_zero(among));
  }

  uint64_t begin(size_t address) override {
    ++begun[address];
    open.insert(++tickets);
    return tickets;
  }

  void give_back(uint64_t host) override {
    ++given_back;
    EXPECT_EQ(open.erase(host), 1U);
  }

  void connect_failed(size_t address, CallError error) override {
    ++failed[address];
    last_error = error;
  }

  std::vector<SocketAddress> known;
  Standing now;
  size_t wanted = 0;
  std::array<size_t, ClientAddresses::kMostAddresses> begun{};
  std::array<size_t, ClientAddresses::kMostAddresses> failed{};
  std::set<uint64_t> open;
  uint64_t tickets = 0;
  size_t given_back = 0;
  CallError last_error = CallError::kNone;
};

class ClientHostsTest : public testing::NamesFixture {
 protected:
  TargetId add_two(TargetSettings settings = {}) {
    name("two", listeners_);
    settings.host = "two";
    settings.hosts = choice_;
    const TargetId target = add(std::move(settings));
    EXPECT_TRUE(run_while_not([&] { return choice_->known.size() == 2; }));
    return target;
  }

  /// The listener behind an address of the choice.
  RawListener& at(size_t address) {
    return choice_->known[address].key() ==
                   literal_address("127.0.0.1", listeners_[0].port()).front().key()
               ? listeners_[0]
               : listeners_[1];
  }

  /// A call to `address` on a new connection, answered; the connection stays idle.
  RawSocket connect_to(TargetId target, size_t address) {
    choice_->wanted = address;
    const size_t idle = client_.pool(target).idle;
    call(target);
    EXPECT_TRUE(run_while_not([&] { return client_.pool(target).connecting == 0; }));
    RawSocket socket = at(address).accept();
    EXPECT_TRUE(socket.receive_message().ends_with("request-body"));
    socket.send(kOk);
    run_until(1);
    EXPECT_EQ(client_.pool(target).idle, idle + 1);
    settle_last();
    return socket;
  }

  void settle_last() { EXPECT_EQ(choice_->open.erase(last().result.host), 1U); }

  std::vector<RawListener> listeners_{2};
  std::shared_ptr<ToldChoice> choice_ = std::make_shared<ToldChoice>();
};

TEST_F(ClientHostsTest, ACallGoesElsewhereAtOnceWhileAConnectionToTheChosenAddressIsOpened) {
  const TargetId target = add_two();
  RawSocket first = connect_to(target, 0);
  choice_->wanted = 1;
  call(target, 2);
  EXPECT_EQ(client_.pool(target).busy, 1U) << "not waiting for the handshake";
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).idle == 1; }));
  EXPECT_EQ(choice_->begun[0], 2U);
  first.receive_message();
  first.send(kOk);
  run_until(1);
  settle_last();
  call(target, 3);
  EXPECT_EQ(choice_->begun[1], 1U);
  RawSocket second = at(1).accept();
  second.receive_message();
  second.send(kOk);
  run_until(1);
  settle_last();
  EXPECT_EQ(client_.counters(target).connects.value(), 2U);
  EXPECT_TRUE(choice_->open.empty());
}

TEST_F(ClientHostsTest, AnAddressThatMayTakeNoCallsLosesItsConnectionsWhenTheyAreFree) {
  const TargetId target = add_two();
  RawSocket idle = connect_to(target, 0);
  choice_->wanted = 1;
  call(target, 2);  // on the one at hand, and one is opened to the other
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).idle == 1; }));
  choice_->now.usable = choice_->now.full = ~uint64_t{1};
  call(target, 3);
  EXPECT_EQ(choice_->begun[1], 1U);
  RawSocket other = at(1).accept();
  other.receive_message();
  other.send(kOk);
  run_until(1);
  settle_last();
  EXPECT_EQ(client_.pool(target).busy, 1U) << "what is under way there is finished";
  idle.receive_message();
  idle.send(kOk);
  run_until(1);
  EXPECT_EQ(last().tag, 2U);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_FALSE(idle.timed_out());
  choice_->now.usable = choice_->now.full = ~uint64_t{2};
  call(target, 4);
  EXPECT_EQ(other.receive_all(), "") << "the idle one at once";
  EXPECT_FALSE(other.timed_out());
}

TEST_F(ClientHostsTest, ACallThatIsMadeAgainOnAFreshConnectionIsGivenBack) {
  const TargetId target = add_two();
  RawSocket stale = connect_to(target, 0);
  call(target, 2);
  stale.receive_message();
  stale.reset_connection();
  ASSERT_TRUE(run_while_not([&] { return client_.counters(target).connects.value() == 2; }));
  RawSocket fresh = at(0).accept();
  fresh.receive_message();
  fresh.send(kOk);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNone);
  EXPECT_EQ(choice_->given_back, 1U);
  settle_last();
  EXPECT_TRUE(choice_->open.empty());
}

TEST_F(ClientHostsTest, AConnectThatFailsIsToldAndTheCallGoesToAnother) {
  const TargetId target = add_two();
  at(0).close();
  choice_->wanted = 0;
  call(target);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 1; }));
  EXPECT_EQ(choice_->failed[0], 1U);
  EXPECT_EQ(choice_->last_error, CallError::kRefused);
  RawSocket peer = at(1).accept();
  peer.receive_message();
  peer.send(kOk);
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kNone);
  settle_last();
}

TEST_F(ClientHostsTest, ACallThatRunsOutOfTimeTellsItsHost) {
  const TargetId target = add_two();
  call(target, 1, {.answer_by = reactor_.refresh() + 20ms});
  run_until(1);
  EXPECT_EQ(last().result.error, CallError::kTimeout);
  EXPECT_TRUE(last().draining);
  settle_last();
}

TEST_F(ClientHostsTest, AtTheCapAnAddressWithoutAConnectionGetsTheOldestOfAnother) {
  const TargetId target = add_two({.max_connections = 2});
  choice_->wanted = 0;
  call(target, 1);
  call(target, 2);
  ASSERT_TRUE(run_while_not([&] { return client_.pool(target).busy == 2; }));
  std::vector<RawSocket> peers;
  for (int i = 0; i < 2; ++i) {
    peers.push_back(at(0).accept());
    peers.back().receive_message();
    peers.back().send(kOk);
    run_until(1);
    settle_last();
  }
  choice_->wanted = 1;
  call(target, 3);
  ASSERT_TRUE(run_while_not([&] {
    const Client::Pool pool = client_.pool(target);
    return pool.busy == 1 && pool.idle == 1;
  }));
  EXPECT_TRUE(at(1).has_caller());
  EXPECT_EQ(choice_->begun[0], 3U);
}

TEST_F(ClientHostsTest, AddressesThatAreGivenAreNotLookedUp) {
  const TargetId target = add({.host = "nobody.example",
                               .port = listener_.port(),
                               .addresses = {"127.0.0.1"},
                               .hosts = choice_});
  serve(1);
  call(target);
  run_until(1);
  EXPECT_EQ(last().body, "ok");
  EXPECT_EQ(names_->asked["nobody.example"], 0U);
  ASSERT_EQ(choice_->known.size(), 1U);
  EXPECT_EQ(to_string(choice_->known[0]), "127.0.0.1:" + std::to_string(listener_.port()));
  client_.remove_target(target);
}

TEST(ClientAddresses, OnlyThoseOfFullWeightFillTheWidth) {
  ClientAddresses addresses(1);
  const auto choice = std::make_shared<ToldChoice>();
  addresses.set_hosts(choice);
  std::vector<SocketAddress> many;
  many.reserve(100);
  for (uint16_t port = 1; port <= 100; ++port) {
    many.push_back(literal_address("::1", port).front());
  }
  addresses.set(many);
  EXPECT_EQ(addresses.size(), ClientAddresses::kMostAddresses);
  const base::Instant now{1h};
  EXPECT_EQ(addresses.candidates(2, now), 0b11U);
  choice->now = {.usable = ~uint64_t{0b10}, .full = ~uint64_t{0b110}};
  EXPECT_EQ(addresses.refresh(), 0b10U) << "what is out from now on";
  EXPECT_EQ(addresses.refresh(), 0U);
  EXPECT_EQ(addresses.candidates(2, now), 0b1101U) << "the third is on its way back";
  addresses.pass_over(0, now + 1s);
  EXPECT_EQ(addresses.candidates(1, now), 0b1100U);
  EXPECT_EQ(addresses.candidates(1, now + 1s), 0b1U);
  choice->now = {.usable = 0b1, .full = 0b1};
  addresses.refresh();
  EXPECT_EQ(addresses.candidates(2, now), 0b1U) << "rather than none";
}

}  // namespace
}  // namespace spillway::net
