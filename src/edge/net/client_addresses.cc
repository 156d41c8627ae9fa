#include "net/client_addresses.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "net/host_choice.h"
#include "net/resolver.h"

namespace spillway::net {

void ClientAddresses::set_hosts(std::shared_ptr<HostChoice> hosts) {
  if (hosts == hosts_) {
    return;
  }
  hosts_ = std::move(hosts);
  announce();
}

void ClientAddresses::announce() {
  standing_ = {};
  if (hosts_ == nullptr || peers_.empty()) {
    return;
  }
  std::vector<SocketAddress> addresses;
  addresses.reserve(peers_.size());
  for (const Peer& peer : peers_) {
    addresses.push_back(peer.address);
  }
  hosts_->set_addresses(addresses);
}

void ClientAddresses::set(const std::vector<SocketAddress>& addresses) {
  std::vector<Peer> peers;
  for (const SocketAddress& address : addresses) {
    const uint64_t key = address.key();
    if (std::ranges::find(peers, key, &Peer::key) == peers.end()) {
      peers.push_back({.address = address, .key = key, .rank = base::combine64(key, seed_)});
    }
  }
  std::ranges::sort(peers, std::ranges::greater{}, &Peer::rank);
  if (peers.size() > kMostAddresses) {
    peers.resize(kMostAddresses);
  }
  if (!std::ranges::equal(peers, peers_, {}, &Peer::key, &Peer::key)) {
    peers_ = std::move(peers);
    announce();
  }
}

void ClientAddresses::clear() {
  peers_.clear();
  standing_ = {};
}

size_t ClientAddresses::index_of(uint64_t key) const {
  const auto found = std::ranges::find(peers_, key, &Peer::key);
  return found == peers_.end() ? kNone : static_cast<size_t>(found - peers_.begin());
}

uint64_t ClientAddresses::refresh() {
  const uint64_t before = standing_.usable;
  standing_ = hosts_->standing();
  return before & ~standing_.usable;
}

bool ClientAddresses::any_sound(base::Instant now) const {
  return std::ranges::any_of(peers_,
                             [now](const Peer& peer) { return peer.passed_over_until <= now; });
}

uint64_t ClientAddresses::candidates(size_t width, base::Instant now) const {
  uint64_t found = 0;
  size_t whole = 0;
  size_t next_due = kNone;
  for (size_t i = 0; i < peers_.size() && whole < width; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if ((standing_.usable & bit) == 0) {
      continue;
    }
    if (peers_[i].passed_over_until <= now) {
      found |= bit;
      whole += (standing_.full & bit) != 0 ? 1 : 0;
    } else if (next_due == kNone ||
               peers_[i].passed_over_until < peers_[next_due].passed_over_until) {
      next_due = i;
    }
  }
  if (found != 0 || peers_.empty()) {
    return found;
  }
  return uint64_t{1} << (next_due == kNone ? 0 : next_due);
}

}  // namespace spillway::net
