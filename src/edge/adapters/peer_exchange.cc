#include "adapters/peer_exchange.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "adapters/sample_packet.h"
#include "capacity/sample.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"

namespace spillway::adapters {
namespace {

constexpr size_t kReadsAtOnce = 256;

struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};

std::optional<HostAndPort> split(std::string_view text) {
  HostAndPort out;
  std::string port;
  if (!net::split_address(text, out.host, port)) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  return error == std::errc() && end == port.data() + port.size() ? std::optional(out)
                                                                  : std::nullopt;
}

/// The first address of a family; waits for the name server.
std::optional<net::SocketAddress> look_up(const HostAndPort& peer, int family) {
  addrinfo wanted{};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(peer.host.c_str(), std::to_string(peer.port).c_str(), &wanted, &found) != 0 ||
      found == nullptr) {
    return std::nullopt;
  }
  net::SocketAddress out;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return out;
}

}  // namespace

PeerExchange::PeerExchange(net::Reactor& reactor, const PeerSettings& settings,
                           WallClock wall_clock, Take take)
    : reactor_(reactor),
      packets_(settings.key),
      wall_clock_(std::move(wall_clock)),
      take_(std::move(take)),
      error_(bind_to(settings.listen)) {
  if (!error_.empty()) {
    return;
  }
  for (const auto& text : settings.peers) {
    const auto peer = split(text);
    const auto address = peer ? look_up(*peer, family_) : std::nullopt;
    if (address && peers_.size() < kMostPeers) {
      peers_.push_back(*address);
    } else {
      unknown_.push_back(text);
    }
  }
  reactor_.add(socket_.fd(), EPOLLIN, *this);
}

PeerExchange::~PeerExchange() {
  if (error_.empty()) {
    reactor_.remove(socket_.fd(), *this);
  }
}

std::string PeerExchange::bind_to(std::string_view address) {
  const auto place = split(address);
  const auto found =
      place ? net::literal_address(place->host, place->port) : std::vector<net::SocketAddress>();
  if (found.empty()) {
    return fmt::format("{}: not an address to listen on", address);
  }
  net::SocketAddress own = found.front();
  family_ = own.storage.ss_family;
  socket_.reset(::socket(family_, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto* const raw = reinterpret_cast<sockaddr*>(&own.storage);
  if (!socket_ || ::bind(socket_.fd(), raw, own.size) != 0 ||
      ::getsockname(socket_.fd(), raw, &own.size) != 0) {
    return fmt::format("{}: {}", address, std::generic_category().message(errno));
  }
  port_ = ntohs(family_ == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(raw)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(raw)->sin_port);
  return {};
}

bool PeerExchange::add_peer(std::string_view address) {
  const auto peer = split(address);
  const auto found =
      peer ? net::literal_address(peer->host, peer->port) : std::vector<net::SocketAddress>();
  if (found.empty() || found.front().storage.ss_family != family_ || peers_.size() >= kMostPeers) {
    return false;
  }
  peers_.push_back(found.front());
  return true;
}

void PeerExchange::send(const capacity::Sample& sample) {
  const auto packet = packets_.seal(sample, reactor_.now(), wall_clock_());
  for (const auto& peer : peers_) {
    // An ICMP answer to an earlier datagram may be reported here: the next try sends.
    const auto* const to = reinterpret_cast<const sockaddr*>(&peer.storage);
    auto sent = ::sendto(socket_.fd(), packet.data(), packet.size(), 0, to, peer.size);
    if (sent < 0 && errno == ECONNREFUSED) {
      sent = ::sendto(socket_.fd(), packet.data(), packet.size(), 0, to, peer.size);
    }
    (sent < 0 ? counters_.send_errors : counters_.sent).add();
  }
}

void PeerExchange::on_ready(uint32_t /*epoll_events*/) {
  std::array<char, SamplePackets::kMostBytes + 1> bytes{};
  for (size_t i = 0; i < kReadsAtOnce; ++i) {
    const auto got = ::recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    }
    if (got >= 0) {
      take({bytes.data(), static_cast<size_t>(got)});
    }
  }
}

void PeerExchange::take(std::string_view packet) {
  auto sample = packets_.open_message(packet, reactor_.now(), wall_clock_());
  if (!sample) {
    counters_.rejected.at(static_cast<size_t>(sample.error())).add();
    return;
  }
  counters_.received.add();
  take_(std::move(*sample));
}

}  // namespace spillway::adapters
