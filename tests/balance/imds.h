#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"

namespace spillway::balance {

/// A machine's metadata service, version 2, as EC2 documents it: a PUT for a token, then GETs that
/// show it. `spot/instance-action` and the rebalance hint are 404 until there is a notice.
///
/// Source: Amazon EC2 User Guide, "Spot Instance interruption notices" and "Use the Instance
/// Metadata Service".
class FakeImds {
 public:
  FakeImds();
  ~FakeImds();
  FakeImds(const FakeImds&) = delete;
  FakeImds& operator=(const FakeImds&) = delete;

  [[nodiscard]] uint16_t port() const { return server_->port(); }

  /// From now on the machine is to be terminated two minutes after the call.
  void give_notice();

  /// Requests with a token that is ours.
  [[nodiscard]] uint64_t asked() const { return asked_; }

 private:
  [[nodiscard]] net::Response answer(const net::Request& request);

  std::atomic<bool> notice_{false};
  std::atomic<uint64_t> asked_{0};
  std::string time_;  ///< Written before notice_.
  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

}  // namespace spillway::balance
