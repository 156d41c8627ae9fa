#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace spillway::net {

/// Where a connection goes to.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  /// Equal for equal addresses, the same in every process: what rendezvous hashing ranks.
  [[nodiscard]] uint64_t key() const;
};

/// The address when `host` is an IPv4 or IPv6 literal, else none. No look-up.
[[nodiscard]] std::vector<SocketAddress> literal_address(const std::string& host, uint16_t port);

/// Finds the addresses of a name without keeping the caller waiting.
class NameLookup {
 public:
  /// Called once on any thread, or destroyed uncalled when the look-up is given up; empty when the
  /// name could not be resolved.
  using Done = std::move_only_function<void(std::vector<SocketAddress>)>;

  virtual ~NameLookup() = default;

  /// Any thread. Pending look-ups are bounded by the number of targets: each asks one at a time.
  virtual void look_up(std::string host, uint16_t port, Done done) = 0;
};

/// Looks names up with getaddrinfo on one background thread shared by the process, one after the
/// other. The thread ends when the last owner lets go; a look-up under way is not waited for.
class Resolver final : public NameLookup {
 public:
  static std::shared_ptr<Resolver> shared();
  Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver() override;

  void look_up(std::string host, uint16_t port, Done done) override;

 private:
  struct State;
  static void serve(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace spillway::net
