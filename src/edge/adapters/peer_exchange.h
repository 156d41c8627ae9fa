#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
#include "net/timer_wheel.h"

namespace spillway::adapters {

struct PeerSettings {
  std::string listen;              ///< "10.0.0.5:9102"; port 0: a free one.
  std::vector<std::string> peers;  ///< "host:port"; see PeerExchange for names.
  std::string key;                 ///< Shared by the fleet.
};

struct PeerCounters {
  base::Counter sent;
  base::Counter send_errors;  ///< The kernel refused it; a datagram lost on its way is unseen.
  base::Counter received;     ///< Datagrams whose sample was handed on.
  base::Counter moved;        ///< Names that were found at another address than before.
  std::array<base::Counter, kPacketErrors> rejected;  ///< By PacketErrc.
};

/// Samples from server to server: one datagram each, to every peer, signed. There is no store and
/// nobody to ask: who is silent grows old in the reader's view. N servers send N² datagrams of some
/// 700 bytes a period, which is little up to 200 of a zone.
///
/// Datagrams wait in the socket until they are gathered, at the owner's ticks, so that they cost no
/// wake-up each; their age counts from when the kernel took them. When many come between two ticks
/// it gathers in between, before the socket's buffer is full.
///
/// Names are looked up in the background, at the start and each kResolveEvery: a peer that moved is
/// found again, one whose name is not found now keeps its address.
///
/// One thread: the reactor's. Memory: kMostPeers addresses and kBatch datagrams.
class PeerExchange final : private net::Timer {
 public:
  static constexpr size_t kMostPeers = 1024;
  static constexpr base::Duration kResolveEvery = std::chrono::minutes(1);
  static constexpr base::Duration kRetryEvery = std::chrono::seconds(5);  ///< A name not found.

  /// On the reactor's thread, from inside gather(). Whether it is newer than what is known is the
  /// taker's to judge.
  using Take = std::move_only_function<void(capacity::Sample)>;
  using WallClock = std::function<int64_t()>;  ///< Milliseconds since the epoch.

  /// Binds at once; see error(). `names`: null is the process's Resolver.
  PeerExchange(net::Reactor& reactor, const PeerSettings& settings, WallClock wall_clock, Take take,
               std::shared_ptr<net::NameLookup> names = {});
  PeerExchange(const PeerExchange&) = delete;
  PeerExchange& operator=(const PeerExchange&) = delete;
  ~PeerExchange();

  /// Empty when bound.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  /// Those with an address.
  [[nodiscard]] size_t peers() const;

  /// Those whose name was looked up in vain, and what is no host:port. They are left out.
  [[nodiscard]] std::vector<std::string> unknown_peers() const;

  /// Others from now on; those that stay keep their address.
  void set_peers(const std::vector<std::string>& peers);

  /// Adds one more; literal addresses only, for tests and for lists that grow.
  bool add_peer(std::string_view address);

  /// Takes all that has come. Each tick; never blocks.
  void gather();

  /// To every peer. Never blocks.
  void send(const capacity::Sample& sample);

  [[nodiscard]] const PeerCounters& counters() const { return counters_; }

 private:
  struct Peer {
    std::string text;
    std::string host;
    uint16_t port = 0;
    bool is_name = false;  ///< Looked up again and again.
    bool asked = false;    ///< A look-up is under way.
    bool failed = false;   ///< The last one found nothing.
    bool known = false;
    net::SocketAddress address;
    base::Instant ask_at{};
  };

  struct Mail;
  struct Batch;

  void on_timer(base::Instant now) override;
  [[nodiscard]] std::string bind_to(std::string_view address);
  [[nodiscard]] Peer peer_of(const std::string& text) const;
  void look_up_names(base::Instant now);
  void take_names(base::Instant now);
  size_t take_batch(base::Instant now);
  void take(std::string_view packet, base::Duration waited);

  net::Reactor& reactor_;
  SamplePackets packets_;
  WallClock wall_clock_;
  Take take_;
  std::shared_ptr<net::NameLookup> names_;
  std::shared_ptr<Mail> mail_;  ///< What was found, from any thread.
  net::UniqueFd socket_;
  uint16_t port_ = 0;
  int family_ = 0;
  std::vector<Peer> peers_;
  bool has_names_ = false;
  std::unique_ptr<Batch> batch_;
  base::Instant gathered_at_{};
  std::string error_;
  PeerCounters counters_;
};

}  // namespace spillway::adapters
