#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "app/exchange/dsp_hosts.h"
#include "base/call_result.h"
#include "base/rng.h"
#include "base/time.h"
#include "net/client_addresses.h"
#include "net/host_choice.h"
#include "net/resolver.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"

namespace spillway::app {

/// One worker's view of the hosts behind an endpoint: which of the addresses its client knows takes
/// a call, and what came of it. An address that the hosts do not know yet, or never, is used like
/// any other and not judged.
///
/// The worker's thread.
class WorkerHosts final : public net::HostChoice {
 public:
  WorkerHosts(DspHosts& all, EndpointHosts& endpoint, uint32_t worker, uint64_t seed)
      : all_(all), endpoint_(endpoint), worker_(worker), rng_(seed) {}

  void set_addresses(std::span<const net::SocketAddress> addresses) override;
  [[nodiscard]] Standing standing() override;
  [[nodiscard]] size_t choose(uint64_t among) override;
  [[nodiscard]] uint64_t begin(size_t address) override;
  void give_back(uint64_t host) override;
  void connect_failed(size_t address, base::CallError error) override;

  /// What came of a call; `host` as in its CallResult.
  void report(uint64_t host, resilience::Outcome outcome, base::Duration latency);

  /// The endpoint is called no more: what this worker knew of it is forgotten.
  void leave() { all_.post_addresses(endpoint_, worker_, {}); }

 private:
  static constexpr uint8_t kNoSlot = resilience::Hosts::kMaxHosts;

  void find_slots();
  [[nodiscard]] uint64_t addresses_of(uint64_t slots) const;

  DspHosts& all_;
  EndpointHosts& endpoint_;
  uint32_t worker_;
  base::Rng rng_;
  size_t count_ = 0;
  std::array<uint64_t, net::ClientAddresses::kMostAddresses> keys_{};
  std::array<uint8_t, net::ClientAddresses::kMostAddresses> slots_{};  ///< By address.
  uint64_t unknown_ = 0;                                               ///< Addresses without one.
  uint64_t generation_ = 0;
  resilience::UsableSlots seen_;
  Standing standing_;
};

}  // namespace spillway::app
