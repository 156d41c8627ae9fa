#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/sample_packet.h"
#include "base/counter.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"

namespace spillway::adapters {

struct PeerSettings {
  std::string listen;              ///< "10.0.0.5:9102"; port 0: a free one.
  std::vector<std::string> peers;  ///< "host:port"; names are looked up once, at the start.
  std::string key;                 ///< Shared by the fleet.
};

struct PeerCounters {
  base::Counter sent;
  base::Counter send_errors;  ///< The kernel refused it; a datagram lost on its way is unseen.
  base::Counter received;     ///< Datagrams whose sample was handed on.
  std::array<base::Counter, kPacketErrors> rejected;  ///< By PacketErrc.
};

/// Samples from server to server: one datagram each, to every peer, signed. There is no store and
/// nobody to ask: who is silent grows old in the reader's view. N servers send N² datagrams of some
/// 700 bytes a period, which is little up to 200 of a zone.
///
/// One thread: the reactor's. Memory: kMostPeers addresses and one datagram.
class PeerExchange final : private net::ReadySink {
 public:
  static constexpr size_t kMostPeers = 1024;

  /// On the reactor's thread. Whether it is newer than what is known is the taker's to judge.
  using Take = std::move_only_function<void(capacity::Sample)>;
  using WallClock = std::function<int64_t()>;  ///< Milliseconds since the epoch.

  /// Binds and looks names up at once, which may take seconds; see error().
  PeerExchange(net::Reactor& reactor, const PeerSettings& settings, WallClock wall_clock,
               Take take);
  PeerExchange(const PeerExchange&) = delete;
  PeerExchange& operator=(const PeerExchange&) = delete;
  ~PeerExchange();

  /// Empty when bound. A name that is not found is none of these: see unknown_peers().
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] size_t peers() const { return peers_.size(); }

  /// Those without an address; they are left out.
  [[nodiscard]] const std::vector<std::string>& unknown_peers() const { return unknown_; }

  /// Adds one more; literal addresses only, for tests and for lists that grow.
  bool add_peer(std::string_view address);

  /// To every peer. Never blocks.
  void send(const capacity::Sample& sample);

  [[nodiscard]] const PeerCounters& counters() const { return counters_; }

 private:
  void on_ready(uint32_t epoll_events) override;
  [[nodiscard]] std::string bind_to(std::string_view address);
  void take(std::string_view packet);

  net::Reactor& reactor_;
  SamplePackets packets_;
  WallClock wall_clock_;
  Take take_;
  net::UniqueFd socket_;
  uint16_t port_ = 0;
  int family_ = 0;
  std::vector<net::SocketAddress> peers_;
  std::vector<std::string> unknown_;
  std::string error_;
  PeerCounters counters_;
};

}  // namespace spillway::adapters
