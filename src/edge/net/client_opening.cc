// Which connection of a ClientTarget takes a call, and which are opened.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/time.h"
#include "net/client_addresses.h"
#include "net/client_connection.h"
#include "net/client_core.h"
#include "net/client_target.h"
#include "net/host_choice.h"
#include "net/resolver.h"

namespace spillway::net {
namespace {

constexpr size_t kFewestAddresses = 2;
constexpr base::Duration kShortestHandshake = std::chrono::milliseconds(250);
constexpr base::Duration kLongestHandshake =
    std::chrono::seconds(2);  // a SYN and one more after 1 s

}  // namespace

/// The idle connection to one of these addresses that was used last.
ClientConnection* ClientTarget::take_idle(uint64_t among) {
  for (size_t i = idle_.size(); i-- > 0;) {
    ClientConnection& connection = *idle_[i];
    if ((among >> connection.address() & 1) != 0 &&
        !connection.has_news()) {  // its end, or bytes nobody asked for
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      return &connection;
    }
  }
  return nullptr;
}

ClientConnection* ClientTarget::take_chosen(const Call& call) {
  leave_unusable();
  const uint64_t among = candidates();
  if (among == 0) {
    return nullptr;
  }
  const size_t chosen = hosts()->choose(among);
  if (ClientConnection* const there = take_idle(uint64_t{1} << chosen); there != nullptr) {
    return there;
  }
  uint64_t elsewhere = 0;
  for (const ClientConnection* const connection : idle_) {
    elsewhere |= uint64_t{1} << connection->address();
  }
  elsewhere &= addresses_.usable();
  if (elsewhere == 0) {
    return nullptr;
  }
  open_spare(chosen, call);
  const uint64_t rather = (elsewhere & among) != 0 ? elsewhere & among : elsewhere;
  ClientConnection* const found = take_idle(uint64_t{1} << hosts()->choose(rather));
  return found != nullptr ? found : take_idle(elsewhere);
}

void ClientTarget::leave_unusable() {
  const uint64_t left = addresses_.refresh();
  for (size_t i = left != 0 ? idle_.size() : 0; i-- > 0;) {
    if ((left >> idle_[i]->address() & 1) != 0) {
      idle_[i]->close();
    }
  }
}

/// A call went elsewhere for want of an idle connection to `address`: the next one shall find one.
/// At the cap the oldest idle connection makes room, if its address has another or takes no part.
void ClientTarget::open_spare(size_t address, const Call& call) {
  const bool connecting = std::ranges::any_of(connections_, [address](const auto& connection) {
    return connection->address() == address &&
           connection->state() == ClientConnection::State::kConnecting;
  });
  if (connecting || connecting_ >= settings.max_handshakes) {
    return;
  }
  if (connections_.size() >= settings.max_connections) {
    ClientConnection& oldest = *idle_.front();
    const bool spared =
        (candidates() >> oldest.address() & 1) == 0 || connections_to(oldest.address()) > 1;
    if (connections_to(address) != 0 || !spared || idle_.size() < 2) {
      return;
    }
    oldest.close();
  }
  (void)open_one(address, call.next_deadline());
}

bool ClientTarget::can_open() const {
  return connections_.size() < settings.max_connections && connecting_ < settings.max_handshakes;
}

void ClientTarget::open_for_waiting() {
  while (!addresses_.empty() && connecting_ < waiting_.size() && can_open()) {
    const uint64_t among = candidates();
    const size_t address = hosts() != nullptr ? hosts()->choose(among) : fewest_connections(among);
    // The handshakes before this one are for the calls before that one.
    if (!open_one(address, waiting_[connecting_]->next_deadline())) {
      return;
    }
  }
}

/// The first few by rank share the load; more of them as connections fill their shares.
uint64_t ClientTarget::candidates() const {
  if (addresses_.empty()) {
    return 0;
  }
  const size_t share =
      std::max<size_t>(1, (settings.max_connections + addresses_.size() - 1) / addresses_.size());
  const size_t width = std::max(kFewestAddresses, (connections_.size() / share) + 1);
  return addresses_.candidates(std::min(width, settings.max_connections), core.reactor.now());
}

size_t ClientTarget::connections_to(size_t address) const {
  return static_cast<size_t>(std::ranges::count_if(connections_, [address](const auto& connection) {
    return connection->address() == address;
  }));
}

size_t ClientTarget::fewest_connections(uint64_t among) const {
  size_t best = ClientAddresses::kNone;
  size_t fewest = 0;
  for (; among != 0; among &= among - 1) {
    const auto address = static_cast<size_t>(std::countr_zero(among));
    const size_t count = connections_to(address);
    if (best == ClientAddresses::kNone || count < fewest) {
      best = address;
      fewest = count;
    }
  }
  return best;
}

bool ClientTarget::open_one(size_t address, base::Instant call_by) {
  const SocketAddress to = addresses_[address];
  auto owned = std::make_unique<ClientConnection>(*this, to);
  ClientConnection& connection = *owned;
  connection.set_address(address);
  connection.set_index(connections_.size());
  connections_.push_back(std::move(owned));
  ++connecting_;
  counters.connects.add();
  counters.connections_open.add();
  const base::Duration call_has = call_by - core.reactor.now();
  const base::Duration patience =
      2 * std::clamp(call_has, kShortestHandshake / 2, kLongestHandshake / 2);
  if (const int error = connection.connect(to, patience); error != 0) {
    connect_failed(connection, error);
    return false;
  }
  return true;
}

}  // namespace spillway::net
