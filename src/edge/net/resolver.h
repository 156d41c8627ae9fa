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

/// Looks names up on background threads shared by the process, getaddrinfo unless told otherwise.
/// A name server that does not answer holds a thread for many seconds: another is started for the
/// names behind it, up to kThreads, so that one dead name delays no other. Look-ups of the same
/// host and port at the same time are one. The threads end when the last owner lets go; a look-up
/// under way is not waited for.
class Resolver {
 public:
  static constexpr size_t kThreads = 16;

  /// Called on a background thread; empty when the name could not be resolved.
  using Done = std::move_only_function<void(std::vector<SocketAddress>)>;
  /// Any thread, several at once.
  using LookUp = std::function<std::vector<SocketAddress>(const std::string& host, uint16_t port)>;

  static std::shared_ptr<Resolver> shared();
  explicit Resolver(LookUp look_up = {});
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver();

  /// Any thread. Pending look-ups are bounded by the number of targets: each asks one at a time.
  void look_up(std::string host, uint16_t port, Done done);

 private:
  struct State;
  static void serve(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace spillway::net
