#include "adapters/peer_exchange.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/sample_packet.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;

constexpr const char* kKey = "0123456789abcdef0123456789abcdef";

class Peers : public ::testing::Test, private net::Timer {
 protected:
  struct Server {
    std::unique_ptr<PeerExchange> exchange;
    std::vector<capacity::Sample> heard;
  };

  std::unique_ptr<Server> server(std::string key = kKey, std::vector<std::string> peers = {},
                                 std::shared_ptr<net::NameLookup> names = {}) {
    auto out = std::make_unique<Server>();
    out->exchange = std::make_unique<PeerExchange>(
        reactor_, PeerSettings{.listen = "127.0.0.1:0", .peers = std::move(peers), .key = key},
        [this] { return wall_ms_; },
        [own = out.get()](capacity::Sample sample) { own->heard.push_back(std::move(sample)); },
        std::move(names));
    EXPECT_EQ(out->exchange->error(), "");
    return out;
  }

  static std::string address(const Server& server) {
    return "127.0.0.1:" + std::to_string(server.exchange->port());
  }

  capacity::Sample sample(std::string id) {
    capacity::Sample out;
    out.id = std::move(id);
    out.zone = "a";
    out.utilization = 0.5;
    out.weight = 100;
    out.taken_at = reactor_.refresh();
    return out;
  }

  /// The reactor turns and `servers` gather, until it holds.
  bool run_until(const std::vector<const Server*>& servers,
                 const std::function<bool()>& condition) {
    const auto end = reactor_.refresh() + 10s;
    while (!condition() && reactor_.refresh() < end) {
      turn(1ms);
      for (const Server* const one : servers) {
        one->exchange->gather();
      }
    }
    return condition();
  }

  void turn(base::Duration length) {
    reactor_.timers().arm(*this, reactor_.refresh() + length);
    reactor_.run();
  }

  void on_timer(base::Instant /*now*/) override { reactor_.stop(); }

  static void send_raw(uint16_t port, std::string_view bytes) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    ::close(fd);
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  int64_t wall_ms_ = 1'800'000'000'000;
};

TEST_F(Peers, HearEachOther) {
  const auto a = server();
  const auto b = server();
  const auto c = server();
  for (auto* const from : {a.get(), b.get(), c.get()}) {
    for (auto* const to : {a.get(), b.get(), c.get()}) {
      if (from != to) {
        ASSERT_TRUE(from->exchange->add_peer(address(*to)));
      }
    }
  }
  a->exchange->send(sample("a"));
  b->exchange->send(sample("b"));
  EXPECT_TRUE(run_until({a.get(), b.get(), c.get()}, [&] {
    return a->heard.size() == 1 && b->heard.size() == 1 && c->heard.size() == 2;
  }));
  EXPECT_EQ(a->heard[0].id, "b");
  EXPECT_EQ(b->heard[0].id, "a");
  EXPECT_EQ(a->exchange->counters().sent.value(), 2U);
}

/// Names that the test finds, at once.
class Names final : public net::NameLookup {
 public:
  void look_up(std::string host, uint16_t port, Done done) override {
    ++asked;
    const auto found = table.find(host);
    done(found == table.end() ? std::vector<net::SocketAddress>()
                              : net::literal_address(found->second, port));
  }

  std::map<std::string, std::string> table;
  size_t asked = 0;
};

TEST_F(Peers, NamesAreLookedUpInTheBackgroundAndUnknownOnesSaid) {
  const auto a = server();
  const auto b = server(kKey, {"localhost:" + std::to_string(a->exchange->port()),
                               "no-such-host.invalid:9", "no port"});
  const std::vector<std::string> unknown{"no-such-host.invalid:9", "no port"};
  EXPECT_TRUE(run_until({b.get()}, [&] {
    return b->exchange->peers() == 1 && b->exchange->unknown_peers() == unknown;
  }));
  b->exchange->send(sample("b"));
  EXPECT_TRUE(run_until({a.get()}, [&] { return a->heard.size() == 1; }));
}

TEST_F(Peers, ANameThatMovesIsFollowedAndOneThatIsLostKeepsItsAddress) {
  // Time goes by in the test's hand: names are asked for again each minute.
  struct Hand final : base::Clock {
    [[nodiscard]] base::Instant now() const noexcept override { return at; }

    base::Instant at{1h};
  };

  Hand hand;
  net::Reactor reactor(hand);
  const auto names = std::make_shared<Names>();
  names->table["peer"] = "127.0.0.2";
  PeerExchange exchange(
      reactor, PeerSettings{.listen = "127.0.0.1:0", .peers = {"peer:9"}, .key = kKey},
      [] { return 0; }, [](capacity::Sample) {}, names);
  exchange.gather();
  EXPECT_EQ(exchange.peers(), 1U);
  names->table["peer"] = "127.0.0.3";
  exchange.gather();
  EXPECT_EQ(exchange.counters().moved.value(), 0U);
  EXPECT_EQ(names->asked, 1U);
  hand.at += 61s;
  exchange.gather();
  exchange.gather();
  EXPECT_EQ(exchange.counters().moved.value(), 1U);
  names->table.clear();
  hand.at += 61s;
  exchange.gather();
  exchange.gather();
  EXPECT_EQ(names->asked, 3U);
  EXPECT_EQ(exchange.peers(), 1U);
  EXPECT_TRUE(exchange.unknown_peers().empty());
  hand.at += 6s;  // sooner than a minute
  exchange.gather();
  EXPECT_EQ(names->asked, 4U);
}

TEST_F(Peers, OthersCanBeGivenWhileItRuns) {
  const auto a = server();
  const auto b = server();
  const auto c = server();
  c->exchange->set_peers({address(*a)});
  c->exchange->send(sample("c"));
  EXPECT_TRUE(run_until({a.get()}, [&] { return a->heard.size() == 1; }));
  c->exchange->set_peers({address(*b), "localhost:" + std::to_string(b->exchange->port())});
  EXPECT_TRUE(run_until({c.get()}, [&] { return c->exchange->peers() == 2; }));
  c->exchange->send(sample("c"));
  EXPECT_TRUE(run_until({b.get()}, [&] { return b->heard.size() == 2; }));
  a->exchange->gather();
  EXPECT_EQ(a->heard.size(), 1U);
}

TEST_F(Peers, ASampleIsAsOldAsItsWaitInTheSocket) {
  const auto a = server();
  const auto b = server();
  ASSERT_TRUE(b->exchange->add_peer(address(*a)));
  a->exchange->gather();
  const auto sent_at = reactor_.refresh();
  auto told = sample("b");
  told.taken_at = sent_at;
  b->exchange->send(told);
  turn(50ms);
  EXPECT_TRUE(run_until({a.get()}, [&] { return a->heard.size() == 1; }));
  // By the wall clock, which is not the reactor's.
  EXPECT_GE(reactor_.now() - a->heard[0].taken_at, 45ms);
}

TEST_F(Peers, MoreThanASocketHoldsAreGatheredBetweenTwoTicks) {
  const auto a = server();
  const auto b = server();
  ASSERT_TRUE(b->exchange->add_peer(address(*a)));
  a->exchange->gather();
  turn(200ms);
  for (int i = 0; i < 100; ++i) {
    b->exchange->send(sample("b"));
  }
  a->exchange->gather();
  EXPECT_EQ(a->heard.size(), 100U);
  // From here on without being told to.
  b->exchange->send(sample("b"));
  const auto end = reactor_.refresh() + 10s;
  while (a->heard.size() < 101 && reactor_.refresh() < end) {
    turn(10ms);
  }
  EXPECT_EQ(a->heard.size(), 101U);
}

TEST_F(Peers, RejectWhatIsForgedOrBrokenWithItsReason) {
  const auto a = server();
  const auto stranger = server("another key of thirty-two bytes!");
  ASSERT_TRUE(stranger->exchange->add_peer(address(*a)));
  stranger->exchange->send(sample("i-1"));
  send_raw(a->exchange->port(), "hello");
  send_raw(a->exchange->port(), std::string(3'000, 'x'));
  const auto& rejected = a->exchange->counters().rejected;
  const auto count = [&](PacketErrc error) {
    return rejected.at(static_cast<size_t>(error)).value();
  };
  EXPECT_TRUE(run_until({a.get()}, [&] {
    return count(PacketErrc::kBadSignature) == 1 && count(PacketErrc::kTooShort) == 1 &&
           count(PacketErrc::kTooLong) == 1;
  }));
  EXPECT_TRUE(a->heard.empty());
  EXPECT_EQ(a->exchange->counters().received.value(), 0U);
}

TEST_F(Peers, AReplayIsRefusedOnceItIsOld) {
  const auto a = server();
  const SamplePackets packets(kKey);
  const auto packet = packets.seal(sample("i-1"), reactor_.refresh(), wall_ms_);
  wall_ms_ += 60'000;
  send_raw(a->exchange->port(), packet);
  EXPECT_TRUE(run_until({a.get()}, [&] {
    return a->exchange->counters().rejected.at(static_cast<size_t>(PacketErrc::kClock)).value() ==
           1;
  }));
}

TEST_F(Peers, GoOnSendingToOneThatIsGone) {
  const auto a = server();
  auto gone = server();
  const auto b = server();
  ASSERT_TRUE(a->exchange->add_peer(address(*gone)));
  ASSERT_TRUE(a->exchange->add_peer(address(*b)));
  gone.reset();
  for (size_t i = 1; i <= 5; ++i) {
    a->exchange->send(sample("a"));
    EXPECT_TRUE(run_until({b.get()}, [&] { return b->heard.size() == i; }));
  }
}

TEST_F(Peers, AnAddressThatIsNoneIsSaid) {
  const PeerExchange bad(
      reactor_, PeerSettings{.listen = "nowhere:1", .peers = {}, .key = kKey}, [] { return 0; },
      [](capacity::Sample) {});
  EXPECT_EQ(bad.error(), "nowhere:1: not an address to listen on");
}

}  // namespace
}  // namespace spillway::adapters
