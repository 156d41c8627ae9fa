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

/// "10.1.2.3:443", "[2001:db8::1]:443".
[[nodiscard]] std::string to_string(const SocketAddress& address);

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

/// Looks names up on background threads shared by the process, getaddrinfo unless told otherwise.
/// A name server that does not answer holds a thread for many seconds: another is started for the
/// names behind it, up to kThreads, so that one dead name delays no other. Look-ups of the same
/// host and port at the same time are one. The threads end when the last owner lets go; a look-up
/// under way is not waited for.
class Resolver final : public NameLookup {
 public:
  static constexpr size_t kThreads = 16;

  /// Any thread, several at once.
  using LookUp = std::function<std::vector<SocketAddress>(const std::string& host, uint16_t port)>;

  static std::shared_ptr<Resolver> shared();
  explicit Resolver(LookUp look_up = {});
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
