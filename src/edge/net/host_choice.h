#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/call_result.h"
#include "net/resolver.h"

namespace spillway::net {

/// Decides which of a target's addresses takes a call, by what came of earlier ones. `net` knows
/// addresses and connections; what is wrong with a host is decided behind this port.
///
/// Addresses are known by their index in the last set_addresses; sets of them are masks of bits.
/// All calls come from the client's thread.
class HostChoice {
 public:
  /// Which addresses take calls.
  struct Standing {
    uint64_t usable = ~uint64_t{0};
    uint64_t full = ~uint64_t{0};  ///< Of those the ones that may take their whole share.
  };

  virtual ~HostChoice() = default;

  /// The target has these addresses from now on, most preferred first, kMostAddresses at most.
  virtual void set_addresses(std::span<const SocketAddress> addresses) = 0;

  /// Asked before each call. Connections to what is not usable are given up.
  [[nodiscard]] virtual Standing standing() = 0;

  /// One of `among`, which is not 0. Takes no note of it.
  [[nodiscard]] virtual size_t choose(uint64_t among) = 0;

  /// A call goes to `address`. What is returned comes back in CallResult::host, exactly once unless
  /// the client ends before; 0: there is nothing to tell.
  [[nodiscard]] virtual uint64_t begin(size_t address) = 0;

  /// A call that began was made elsewhere after all: nobody's fault. Settles `host`.
  virtual void give_back(uint64_t host) = 0;

  /// No connection came about, for no call in particular: kRefused, kTimeout, kTls or kReset.
  virtual void connect_failed(size_t address, base::CallError error) = 0;
};

}  // namespace spillway::net
