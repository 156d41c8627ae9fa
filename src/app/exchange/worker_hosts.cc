#include "app/exchange/worker_hosts.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "app/exchange/dsp_hosts.h"
#include "base/call_result.h"
#include "base/time.h"
#include "net/host_choice.h"
#include "net/resolver.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"
#include "resilience/pick.h"

namespace spillway::app {
namespace {

using resilience::Outcome;
using resilience::PickedHost;

// A pick in one word, never 0: epoch, slot, and a bit that is always set.
constexpr uint64_t kPicked = 1;

uint64_t packed(PickedHost host) {
  return uint64_t{host.epoch} << 32 | uint64_t{host.slot} << 1 | kPicked;
}

PickedHost unpacked(uint64_t word) {
  return {.epoch = static_cast<uint32_t>(word >> 32), .slot = static_cast<uint8_t>(word >> 1)};
}

}  // namespace

void WorkerHosts::set_addresses(std::span<const net::SocketAddress> addresses) {
  std::vector<HostAddress> known;
  count_ = std::min(addresses.size(), keys_.size());
  known.reserve(count_);
  for (size_t i = 0; i < count_; ++i) {
    keys_[i] = addresses[i].key();
    known.push_back({.key = keys_[i], .text = to_string(addresses[i])});
  }
  find_slots();
  all_.post_addresses(endpoint_, worker_, std::move(known));
}

/// Where the hosts keep what they know of each address.
void WorkerHosts::find_slots() {
  generation_ = endpoint_.hosts.generation();  // first: what moves meanwhile is found next time
  unknown_ = 0;
  for (size_t i = 0; i < count_; ++i) {
    slots_[i] = endpoint_.hosts.slot_of(keys_[i]).value_or(kNoSlot);
    unknown_ |= slots_[i] == kNoSlot ? uint64_t{1} << i : 0;
  }
  seen_ = endpoint_.hosts.usable();
  standing_ = {.usable = addresses_of(seen_.all), .full = addresses_of(seen_.full)};
}

uint64_t WorkerHosts::addresses_of(uint64_t slots) const {
  uint64_t addresses = unknown_;
  for (size_t i = 0; i < count_; ++i) {
    addresses |= slots_[i] != kNoSlot ? (slots >> slots_[i] & 1) << i : 0;
  }
  return addresses;
}

net::HostChoice::Standing WorkerHosts::standing() {
  const resilience::UsableSlots usable = endpoint_.hosts.usable();
  if (endpoint_.hosts.generation() != generation_ || usable.all != seen_.all ||
      usable.full != seen_.full) {
    find_slots();
  }
  return standing_;
}

size_t WorkerHosts::choose(uint64_t among) {
  uint64_t slots = 0;
  for (uint64_t rest = among & ~unknown_; rest != 0; rest &= rest - 1) {
    slots |= uint64_t{1} << slots_[static_cast<size_t>(std::countr_zero(rest))];
  }
  const uint64_t random = rng_.next();
  if ((among & unknown_) != 0 || slots == 0) {
    // Not known yet, for the first moments: any.
    return resilience::draw_pair(among, random).first;
  }
  const size_t slot = endpoint_.hosts.draw(worker_, random, slots);
  for (uint64_t rest = among;; rest &= rest - 1) {
    const auto address = static_cast<size_t>(std::countr_zero(rest));
    if (slots_[address] == slot) {
      return address;
    }
  }
}

uint64_t WorkerHosts::begin(size_t address) {
  return slots_[address] == kNoSlot ? 0 : packed(endpoint_.hosts.begin(worker_, slots_[address]));
}

void WorkerHosts::give_back(uint64_t host) { report(host, Outcome::kNotSent, {}); }

void WorkerHosts::connect_failed(size_t address, base::CallError error) {
  // How long it took says nothing of how long calls take.
  report(begin(address), error == base::CallError::kTls ? Outcome::kTls : Outcome::kRefused, {});
}

void WorkerHosts::report(uint64_t host, Outcome outcome, base::Duration latency) {
  if (host != 0) {
    endpoint_.hosts.report(worker_, unpacked(host), outcome, latency);
  }
}

}  // namespace spillway::app
