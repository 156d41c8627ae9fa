#include "net/client_target.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "net/client.h"
#include "net/client_connection.h"
#include "net/client_core.h"
#include "net/resolver.h"

namespace spillway::net {
namespace {

using base::CallError;
using base::CallPhase;

constexpr size_t kFewestAddresses = 2;
constexpr base::Duration kShortestHandshake = std::chrono::milliseconds(250);
constexpr base::Duration kLongestHandshake =
    std::chrono::seconds(2);  // a SYN and one more after 1 s
constexpr base::Duration kAddressBackoff = std::chrono::seconds(1);
constexpr base::Duration kFailedLookUpRetry = std::chrono::seconds(1);

std::string host_header(const TargetSettings& settings) {
  const bool bare6 = settings.host.contains(':');
  std::string line = "Host: " + (bare6 ? "[" + settings.host + "]" : settings.host);
  if (settings.port != (settings.tls != nullptr ? 443 : 80)) {
    line += ":" + std::to_string(settings.port);
  }
  return line + "\r\n";
}

CallError error_of(int code) {
  switch (code) {
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
      return CallError::kRefused;
    case ETIMEDOUT:
      return CallError::kTimeout;
    case EPROTO:
      return CallError::kTls;
    case EMFILE:
    case ENFILE:
    case EADDRNOTAVAIL:
    case ENOBUFS:
    case ENOMEM:
      return CallError::kNoConnection;  // ours, not the peer's
    default:
      return CallError::kReset;
  }
}

}  // namespace

ClientTarget::ClientTarget(ClientCore& owner, TargetId id, TargetSettings initial)
    : core(owner), settings(std::move(initial)), id_(id), host_line_(host_header(settings)) {
  resolve();
}

ClientTarget::~ClientTarget() = default;

void ClientTarget::resolve() {
  auto literal = literal_address(settings.host, settings.port);
  literal_ = !literal.empty();
  if (literal_) {
    resolved(round_, literal);
  } else if (!resolving_) {
    resolving_ = true;
    core.look_up(id_, round_, settings.host, settings.port);
  }
}

void ClientTarget::on_timer(base::Instant /*now*/) {
  const ClientCore::Scope scope(core);
  resolve();
}

void ClientTarget::resolved(uint64_t round, const std::vector<SocketAddress>& addresses) {
  if (removed_ || round != round_) {
    return;
  }
  resolving_ = false;
  if (!literal_) {
    core.reactor.timers().arm(
        *this, core.reactor.now() + (addresses.empty()
                                         ? std::min(kFailedLookUpRetry, settings.resolve_every)
                                         : settings.resolve_every));
  }
  lookup_failed_ = addresses.empty() && addresses_.empty();
  if (lookup_failed_) {
    fail_waiting(CallError::kDns, CallPhase::kNotSent);
    return;
  }
  if (addresses.empty()) {
    return;  // the stale ones are kept
  }
  std::vector<Peer> peers;
  for (const SocketAddress& address : addresses) {
    const uint64_t key = address.key();
    if (std::none_of(peers.begin(), peers.end(),
                     [&](const Peer& peer) { return peer.key == key; })) {
      peers.push_back({.address = address, .key = key, .rank = base::combine64(key, core.seed)});
    }
  }
  std::sort(peers.begin(), peers.end(),
            [](const Peer& a, const Peer& b) { return a.rank > b.rank; });
  addresses_ = std::move(peers);
  for (size_t i = connections_.size(); i-- > 0;) {
    const uint64_t key = connections_[i]->address_key();
    if (std::none_of(addresses_.begin(), addresses_.end(),
                     [&](const Peer& peer) { return peer.key == key; })) {
      connections_[i]->retire();
    }
  }
  open_for_waiting();
}

void ClientTarget::change(TargetSettings next) {
  const bool same_place =
      next.host == settings.host && next.port == settings.port && next.tls == settings.tls;
  settings = std::move(next);
  if (same_place) {
    return;
  }
  host_line_ = host_header(settings);
  for (size_t i = connections_.size(); i-- > 0;) {
    connections_[i]->retire();
  }
  addresses_.clear();
  ++round_;
  lookup_failed_ = resolving_ = false;
  resolve();
}

void ClientTarget::remove() {
  removed_ = true;
  cancel();
  fail_waiting(CallError::kCancelled, CallPhase::kNotSent);
  while (!connections_.empty()) {
    connections_.back()->cut();
  }
}

void ClientTarget::start(Call& call) {
  call.target = this;
  counters.calls.add();
  if (removed_) {
    refuse(call, CallError::kNoConnection, CallPhase::kNotSent);
    return;
  }
  for (size_t i = idle_.size(); i-- > 0;) {
    ClientConnection& connection = *idle_[i];
    if (!connection.has_news()) {  // its end, or bytes nobody asked for
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      connection.start(call);
      return;
    }
  }
  wait_or_refuse(call);
}

bool ClientTarget::can_open() const {
  return connections_.size() < settings.max_connections && connecting_ < settings.max_handshakes;
}

void ClientTarget::wait_or_refuse(Call& call) {
  if (lookup_failed_) {
    refuse(call, CallError::kDns, CallPhase::kNotSent);
    return;
  }
  const bool room = connections_.size() < settings.max_connections;
  if (!(room && waiting_.size() < settings.max_waiting) && waiting_.size() >= connecting_) {
    refuse(call, CallError::kNoConnection, CallPhase::kNotSent);
    return;
  }
  waiting_.push_back(&call);
  open_for_waiting();
}

void ClientTarget::retry(Call& call) {
  counters.stale_retries.add();
  call.result.retried = true;
  call.result.reused = false;
  call.result.sent_bytes = 0;
  call.connection = nullptr;
  waiting_.push_front(&call);
  open_for_waiting();
}

void ClientTarget::refuse(Call& call, CallError error, CallPhase phase) {
  if (error == CallError::kNoConnection) {
    counters.no_connection.add();
  }
  call.result.error = error;
  call.result.phase = phase;
  core.settle(call);
}

void ClientTarget::fail_waiting(CallError error, CallPhase phase) {
  std::deque<Call*> failed;
  failed.swap(waiting_);
  for (Call* const call : failed) {
    refuse(*call, error, phase);
  }
}

void ClientTarget::open_for_waiting() {
  while (!addresses_.empty() && connecting_ < waiting_.size() && can_open()) {
    if (!open_one()) {
      return;
    }
  }
}

/// The first few by rank share the load; more of them as connections fill their shares.
ClientTarget::Peer& ClientTarget::pick() {
  const size_t share =
      std::max<size_t>(1, (settings.max_connections + addresses_.size() - 1) / addresses_.size());
  const size_t width =
      std::min(addresses_.size(), std::max(kFewestAddresses, (connections_.size() / share) + 1));
  const base::Instant now = core.reactor.now();
  Peer* best = nullptr;
  size_t fewest = 0;
  size_t usable = 0;
  for (Peer& peer : addresses_) {
    if (peer.failed_until > now) {
      continue;
    }
    const auto count = static_cast<size_t>(std::count_if(
        connections_.begin(), connections_.end(),
        [&](const auto& connection) { return connection->address_key() == peer.key; }));
    if (best == nullptr || count < fewest) {
      best = &peer;
      fewest = count;
    }
    if (++usable == width) {
      break;
    }
  }
  return best != nullptr ? *best
                         : *std::min_element(addresses_.begin(), addresses_.end(),
                                             [](const Peer& a, const Peer& b) {
                                               return a.failed_until < b.failed_until;
                                             });
}

bool ClientTarget::open_one() {
  const Peer& peer = pick();
  auto owned = std::make_unique<ClientConnection>(*this, peer.address);
  ClientConnection& connection = *owned;
  const SocketAddress address = peer.address;
  connection.set_index(connections_.size());
  connections_.push_back(std::move(owned));
  ++connecting_;
  counters.connects.add();
  counters.connections_open.add();
  // The handshakes before this one are for the calls before that one.
  const base::Duration call_has = waiting_[connecting_ - 1]->next_deadline() - core.reactor.now();
  const base::Duration patience =
      2 * std::clamp(call_has, kShortestHandshake / 2, kLongestHandshake / 2);
  if (const int error = connection.connect(address, patience); error != 0) {
    connect_failed(connection, error);
    return false;
  }
  return true;
}

void ClientTarget::connected(ClientConnection& connection) {
  --connecting_;
  offer(connection);
}

void ClientTarget::connect_failed(ClientConnection& connection, int error) {
  counters.handshakes_failed.add();
  const base::Instant now = core.reactor.now();
  const auto peer = std::find_if(addresses_.begin(), addresses_.end(), [&](const Peer& candidate) {
    return candidate.key == connection.address_key();
  });
  bool others = false;
  if (error_of(error) != CallError::kNoConnection && peer != addresses_.end()) {
    peer->failed_until = now + kAddressBackoff;
    others = std::any_of(addresses_.begin(), addresses_.end(),
                         [&](const Peer& other) { return other.failed_until <= now; });
  }
  connection.close();
  Call* failed = nullptr;
  if (!others && !waiting_.empty() && waiting_.size() > connecting_) {
    failed = waiting_.front();
    waiting_.pop_front();
  }
  open_for_waiting();
  if (failed != nullptr) {
    const CallError reason = error_of(error);
    refuse(*failed, reason,
           reason == CallError::kNoConnection ? CallPhase::kNotSent : CallPhase::kConnect);
  }
}

void ClientTarget::offer(ClientConnection& connection) {
  if (waiting_.empty()) {
    idle_.push_back(&connection);
    return;
  }
  Call& call = *waiting_.front();
  waiting_.pop_front();
  call.result.connect_time = core.reactor.now() - call.result.started_at;
  connection.start(call);
}

void ClientTarget::leave_idle(ClientConnection& connection) { std::erase(idle_, &connection); }

void ClientTarget::unlink(ClientConnection& connection, ClientConnection::State was) {
  using State = ClientConnection::State;
  if (was == State::kIdle) {
    leave_idle(connection);
  } else if (was == State::kConnecting) {
    --connecting_;
  } else if (was == State::kDraining) {
    --draining_;
  }
  const size_t index = connection.index();
  core.bury(std::move(connections_[index]));
  if (index + 1 != connections_.size()) {
    connections_[index] = std::move(connections_.back());
    connections_[index]->set_index(index);
  }
  connections_.pop_back();
  counters.connections_open.subtract();
}

bool ClientTarget::begin_drain() {
  if (draining_ >= std::max<size_t>(1, settings.max_connections / 4)) {
    return false;
  }
  ++draining_;
  return true;
}

void ClientTarget::expire(Call& call, CallError error) {
  if (call.connection != nullptr) {
    call.connection->abandon(error, true);
    return;
  }
  std::erase(waiting_, &call);
  const bool nameless = addresses_.empty() && error == CallError::kTimeout;
  CallPhase phase = CallPhase::kConnect;
  if (nameless || error == CallError::kCancelled) {
    phase = CallPhase::kNotSent;
  }
  refuse(call, nameless ? CallError::kDns : error, phase);
}

Client::Pool ClientTarget::pool() const {
  Client::Pool pool{.idle = idle_.size(), .connecting = connecting_, .draining = draining_};
  pool.busy = connections_.size() - pool.idle - pool.connecting - pool.draining;
  return pool;
}

}  // namespace spillway::net
