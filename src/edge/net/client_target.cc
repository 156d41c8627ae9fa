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
#include "base/time.h"
#include "net/client.h"
#include "net/client_addresses.h"
#include "net/client_connection.h"
#include "net/client_core.h"
#include "net/host_choice.h"
#include "net/resolver.h"

namespace spillway::net {
namespace {

using base::CallError;
using base::CallPhase;

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
    : core(owner),
      settings(std::move(initial)),
      id_(id),
      host_line_(host_header(settings)),
      addresses_(owner.seed) {
  addresses_.set_hosts(settings.hosts);
  resolve();
}

ClientTarget::~ClientTarget() = default;

void ClientTarget::resolve() {
  std::vector<SocketAddress> literal;
  for (const std::string& address : settings.addresses) {
    const auto found = literal_address(address, settings.port);
    literal.insert(literal.end(), found.begin(), found.end());
  }
  if (settings.addresses.empty()) {
    literal = literal_address(settings.host, settings.port);
  }
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
  addresses_.set(addresses);
  for (size_t i = connections_.size(); i-- > 0;) {
    ClientConnection& connection = *connections_[i];
    connection.set_address(addresses_.index_of(connection.address_key()));
    if (connection.address() == ClientAddresses::kNone) {
      connection.retire();
    }
  }
  open_for_waiting();
}

void ClientTarget::change(TargetSettings next) {
  const bool same_place = next.host == settings.host && next.port == settings.port &&
                          next.tls == settings.tls && next.addresses == settings.addresses;
  settings = std::move(next);
  addresses_.set_hosts(settings.hosts);
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
  ClientConnection* const connection =
      hosts() != nullptr ? take_chosen(call) : take_idle(ClientAddresses::kAll);
  if (connection != nullptr) {
    send(*connection, call);
  } else {
    wait_or_refuse(call);
  }
}

void ClientTarget::send(ClientConnection& connection, Call& call) {
  if (hosts() != nullptr) {
    call.result.host = hosts()->begin(connection.address());
  }
  connection.start(call);
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
  if (const uint64_t host = std::exchange(call.result.host, 0); host != 0) {
    hosts()->give_back(host);
  }
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

void ClientTarget::connected(ClientConnection& connection) {
  --connecting_;
  offer(connection);
  open_for_waiting();
}

void ClientTarget::connect_failed(ClientConnection& connection, int error) {
  counters.handshakes_failed.add();
  if (error == EMFILE || error == ENFILE) {
    counters.no_descriptor.add();
  }
  const base::Instant now = core.reactor.now();
  const size_t address = connection.address();
  bool others = false;
  if (error_of(error) != CallError::kNoConnection && address != ClientAddresses::kNone) {
    addresses_.pass_over(address, now + kAddressBackoff);
    others = addresses_.any_sound(now);
    if (hosts() != nullptr) {
      hosts()->connect_failed(address, error_of(error));
    }
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
  if (!addresses_.usable(connection.address())) {
    connection.close();
    open_for_waiting();
    return;
  }
  if (waiting_.empty()) {
    idle_.push_back(&connection);
    return;
  }
  Call& call = *waiting_.front();
  waiting_.pop_front();
  call.result.connect_time = core.reactor.now() - call.result.started_at;
  send(connection, call);
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
  if (was != State::kConnecting && !removed_) {  // there is room again; connect_failed() knows more
    open_for_waiting();
  }
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
