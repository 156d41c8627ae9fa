#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/demo/child_process.h"
#include "balance/control_group.h"

namespace spillway::balance {

/// A `redis-server` that keeps nothing on disk; ended by its id. What a fleet shares its members
/// and samples through.
class RedisProcess {
 public:
  RedisProcess();

  /// Empty when it answers.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  /// As a machine that goes away does.
  void kill();

  /// On the same port, with nothing in it.
  void start();

 private:
  uint16_t port_;
  bool ready_ = false;
  std::string error_;
  std::unique_ptr<app::ChildProcess> process_;
};

/// A `spillway balancer` beside some HAProxies; ended by its id.
class BalancerProcess {
 public:
  struct Settings {
    std::vector<std::pair<std::string, std::string>> haproxies;  ///< Name and socket.
    std::string zone;
    uint16_t redis_port = 0;  ///< Members come from there; 0: from HAProxy's own configuration.
  };

  BalancerProcess(const std::filesystem::path& folder, const Settings& settings,
                  const ControlGroup& group);

  [[nodiscard]] const std::string& error() const { return error_; }

  /// The body of GET `target` of its admin listener.
  [[nodiscard]] std::string ask(const std::string& target) const;

 private:
  uint16_t admin_port_;
  std::string error_, said_;
  std::unique_ptr<app::ChildProcess> process_;
};

}  // namespace spillway::balance
