#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "net/host_choice.h"
#include "net/resolver.h"

namespace spillway::net {

/// The addresses of one target as one client sees them: in its own order of preference (rendezvous
/// hashing, so that workers spread over all), and which of them connections are opened to.
///
/// One thread. Memory: kMostAddresses; a target that has more uses the preferred ones.
class ClientAddresses {
 public:
  static constexpr size_t kMostAddresses = 64;
  static constexpr size_t kNone = kMostAddresses;
  static constexpr uint64_t kAll = ~uint64_t{0};

  explicit ClientAddresses(uint64_t seed) : seed_(seed) {}

  /// Null: every address takes calls that does not refuse connections.
  void set_hosts(std::shared_ptr<HostChoice> hosts);

  [[nodiscard]] HostChoice* hosts() const { return hosts_.get(); }

  void set(const std::vector<SocketAddress>& addresses);
  void clear();

  [[nodiscard]] bool empty() const { return peers_.empty(); }

  [[nodiscard]] size_t size() const { return peers_.size(); }

  /// kNone when it is not among them.
  [[nodiscard]] size_t index_of(uint64_t key) const;

  [[nodiscard]] const SocketAddress& operator[](size_t index) const {
    return peers_[index].address;
  }

  /// Asks the choice which addresses take calls; those that no longer do.
  uint64_t refresh();

  [[nodiscard]] bool usable(size_t index) const {
    return index < kMostAddresses && (standing_.usable >> index & 1) != 0;
  }

  [[nodiscard]] uint64_t usable() const { return standing_.usable; }

  /// Connections to it fail: it is passed over until then, while there are others.
  void pass_over(size_t index, base::Instant until) { peers_[index].passed_over_until = until; }

  /// Whether one is not passed over.
  [[nodiscard]] bool any_sound(base::Instant now) const;

  /// Where connections are opened to now: the first `width` that take their whole share, and those
  /// before them that take part of it. Never 0 while there are addresses.
  [[nodiscard]] uint64_t candidates(size_t width, base::Instant now) const;

 private:
  struct Peer {
    SocketAddress address;
    uint64_t key = 0;
    uint64_t rank = 0;
    base::Instant passed_over_until{};
  };

  void announce();

  uint64_t seed_;
  std::vector<Peer> peers_;  ///< Highest rank first.
  std::shared_ptr<HostChoice> hosts_;
  HostChoice::Standing standing_;
};

}  // namespace spillway::net
