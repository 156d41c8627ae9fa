#include "adapters/peer_exchange.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "adapters/sample_packet.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;

constexpr size_t kBatch = 32;
constexpr size_t kBatches = 64;     // between two turns of the reactor
constexpr size_t kWellFilled = 64;  // datagrams; a socket's usual buffer holds some 200
constexpr int kSocketBytes = 1 << 20;
constexpr base::Duration kOftenest = 20ms;

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

base::Duration since_epoch(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// When the kernel took a datagram, by the wall clock; `otherwise` where it does not say.
base::Duration taken_at(msghdr& header, base::Duration otherwise) {
  for (auto* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
      timespec time{};
      std::memcpy(&time, CMSG_DATA(part), sizeof time);
      return since_epoch(time);
    }
  }
  return otherwise;
}

}  // namespace

/// Answers of look-ups, put there by whichever thread found them.
struct PeerExchange::Mail {
  struct Found {
    size_t peer = 0;
    std::vector<net::SocketAddress> addresses;
  };

  std::mutex mutex;
  std::vector<Found> found;
};

/// Room for the datagrams of one system call.
struct PeerExchange::Batch {
  using Control = std::array<char, CMSG_SPACE(sizeof(timespec))>;

  void prepare() {
    for (size_t i = 0; i < kBatch; ++i) {
      parts[i] = {.iov_base = bytes[i].data(), .iov_len = bytes[i].size()};
      messages[i] = {};
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_control = control[i].data();
      messages[i].msg_hdr.msg_controllen = control[i].size();
    }
  }

  std::array<std::array<char, SamplePackets::kMostBytes + 1>, kBatch> bytes;
  alignas(cmsghdr) std::array<Control, kBatch> control;
  std::array<iovec, kBatch> parts;
  std::array<mmsghdr, kBatch> messages;
};

PeerExchange::PeerExchange(net::Reactor& reactor, const PeerSettings& settings,
                           WallClock wall_clock, Take take, std::shared_ptr<net::NameLookup> names)
    : reactor_(reactor),
      packets_(settings.key),
      wall_clock_(std::move(wall_clock)),
      take_(std::move(take)),
      names_(std::move(names)),
      mail_(std::make_shared<Mail>()),
      batch_(std::make_unique<Batch>()),
      gathered_at_(reactor.now()),
      error_(bind_to(settings.listen)) {
  if (!error_.empty()) {
    return;
  }
  set_peers(settings.peers);
}

PeerExchange::~PeerExchange() = default;

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
  // Both are better to have and not needed: a sample is a wait younger then, a burst is cut.
  const int on = 1;
  (void)::setsockopt(socket_.fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  (void)::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
  port_ = ntohs(family_ == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(raw)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(raw)->sin_port);
  return {};
}

// ---- who they are ----

PeerExchange::Peer PeerExchange::peer_of(const std::string& text) const {
  Peer peer;
  peer.text = text;
  const auto place = split(text);
  if (!place) {
    peer.failed = true;
    return peer;
  }
  peer.host = place->host;
  peer.port = place->port;
  const auto literal = net::literal_address(peer.host, peer.port);
  peer.is_name = literal.empty();
  if (!peer.is_name) {
    peer.address = literal.front();
    peer.known = peer.address.storage.ss_family == family_;
    peer.failed = !peer.known;
  }
  return peer;
}

void PeerExchange::set_peers(const std::vector<std::string>& peers) {
  const auto before = std::exchange(peers_, {});
  for (const auto& text : peers) {
    if (peers_.size() >= kMostPeers) {
      break;
    }
    const auto known = std::ranges::find(before, text, &Peer::text);
    peers_.push_back(known != before.end() ? *known : peer_of(text));
    peers_.back().asked = false;
  }
  mail_ = std::make_shared<Mail>();  // answers of look-ups under way are for the places before
  has_names_ = std::ranges::any_of(peers_, &Peer::is_name);
  if (has_names_ && names_ == nullptr) {
    names_ = net::Resolver::shared();
  }
  look_up_names(reactor_.now());
}

size_t PeerExchange::peers() const {
  return static_cast<size_t>(std::ranges::count_if(peers_, &Peer::known));
}

std::vector<std::string> PeerExchange::unknown_peers() const {
  std::vector<std::string> out;
  for (const auto& peer : peers_) {
    if (peer.failed && !peer.known) {
      out.push_back(peer.text);
    }
  }
  return out;
}

bool PeerExchange::add_peer(std::string_view address) {
  auto peer = peer_of(std::string(address));
  if (!peer.known || peers_.size() >= kMostPeers) {
    return false;
  }
  peers_.push_back(std::move(peer));
  return true;
}

void PeerExchange::look_up_names(base::Instant now) {
  for (size_t i = 0; has_names_ && i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (!peer.is_name || peer.asked || now < peer.ask_at) {
      continue;
    }
    peer.asked = true;
    names_->look_up(peer.host, peer.port,
                    [mail = mail_, i](std::vector<net::SocketAddress> addresses) {
                      const std::scoped_lock lock(mail->mutex);
                      mail->found.push_back({.peer = i, .addresses = std::move(addresses)});
                    });
  }
}

void PeerExchange::take_names(base::Instant now) {
  std::vector<Mail::Found> found;
  {
    const std::scoped_lock lock(mail_->mutex);
    found.swap(mail_->found);
  }
  for (const auto& one : found) {
    Peer& peer = peers_.at(one.peer);
    const auto fits = [this](const net::SocketAddress& address) {
      return address.storage.ss_family == family_;
    };
    const auto first = std::ranges::find_if(one.addresses, fits);
    peer.asked = false;
    peer.failed = first == one.addresses.end();
    peer.ask_at = now + (peer.failed ? kRetryEvery : kResolveEvery);
    if (peer.failed) {
      continue;
    }
    const auto same = [&peer](const net::SocketAddress& address) {
      return address.key() == peer.address.key();
    };
    // A name with several addresses keeps the one it has.
    if (!peer.known || std::ranges::none_of(one.addresses, same)) {
      counters_.moved.add(peer.known ? 1 : 0);
      peer.address = *first;
      peer.known = true;
    }
  }
}

// ---- samples ----

void PeerExchange::send(const capacity::Sample& sample) {
  const auto packet = packets_.seal(sample, reactor_.now(), wall_clock_());
  iovec part{.iov_base = const_cast<char*>(packet.data()), .iov_len = packet.size()};
  std::vector<mmsghdr> messages;
  messages.reserve(peers_.size());
  for (auto& peer : peers_) {
    if (peer.known) {
      auto& header = messages.emplace_back().msg_hdr;
      header.msg_name = &peer.address.storage;
      header.msg_namelen = peer.address.size;
      header.msg_iov = &part;
      header.msg_iovlen = 1;
    }
  }
  for (size_t next = 0; next < messages.size();) {
    const int sent =
        ::sendmmsg(socket_.fd(), &messages[next], static_cast<unsigned>(messages.size() - next), 0);
    if (sent > 0) {
      counters_.sent.add(static_cast<uint64_t>(sent));
      next += static_cast<size_t>(sent);
    } else if (errno != EINTR) {
      counters_.send_errors.add();  // the first of those that are left
      ++next;
    }
  }
}

void PeerExchange::gather() {
  const auto now = reactor_.refresh();
  if (has_names_) {
    take_names(now);
    look_up_names(now);
  }
  size_t taken = 0;
  size_t last = kBatch;
  for (size_t i = 0; i < kBatches && last == kBatch; ++i) {
    last = take_batch(now);
    taken += last;
  }
  const auto elapsed = now - gathered_at_;
  gathered_at_ = now;
  if (taken <= kWellFilled) {
    cancel();
    return;
  }
  const auto soon = elapsed * static_cast<int64_t>(kWellFilled) / static_cast<int64_t>(taken);
  reactor_.timers().arm(*this, now + std::max(soon, kOftenest));
}

void PeerExchange::on_timer(base::Instant /*now*/) { gather(); }

size_t PeerExchange::take_batch(base::Instant now) {
  batch_->prepare();
  const int got = ::recvmmsg(socket_.fd(), batch_->messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (got <= 0) {
    return 0;
  }
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const auto wall_now = since_epoch(wall);
  for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
    // Not longer than since the last time: a wall clock that was set says anything.
    const auto waited = std::clamp(wall_now - taken_at(batch_->messages[i].msg_hdr, wall_now),
                                   base::Duration::zero(), now - gathered_at_);
    take({batch_->bytes[i].data(), batch_->messages[i].msg_len}, waited);
  }
  return static_cast<size_t>(got);
}

void PeerExchange::take(std::string_view packet, base::Duration waited) {
  const auto waited_ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  auto sample = packets_.open_message(packet, reactor_.now() - waited, wall_clock_() - waited_ms);
  if (!sample) {
    counters_.rejected.at(static_cast<size_t>(sample.error())).add();
    return;
  }
  counters_.received.add();
  take_(std::move(*sample));
}

}  // namespace spillway::adapters
