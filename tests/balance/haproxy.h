#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "app/demo/child_process.h"
#include "balance/control_group.h"

namespace spillway::balance {

/// A folder of the test's own, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A port of loopback that was free a moment ago.
[[nodiscard]] uint16_t free_port();

/// A server as HAProxy's configuration names it.
struct ProxiedServer {
  std::string name;
  uint16_t port = 0;
  uint16_t agent_port = 0;  ///< 0: no agent.
  bool disabled = false;    ///< In maintenance until enabled.
};

/// A row of HAProxy's statistics.
struct ServerStatistics {
  std::string name, status;
  uint32_t weight = 0;  ///< Effective now.
  uint64_t chosen = 0;  ///< `lbtot`: times the balancing chose it.
  uint64_t answers_5xx = 0;
};

/// A real HAProxy with one proxy, `farm`, on a free port; ended by its id. One thread.
class Haproxy {
 public:
  struct Settings {
    std::vector<ProxiedServer> servers;
    /// Of `agent-inter`.
    std::string agent_interval = "500ms";
    std::string balance = "roundrobin";
  };

  /// `name`: of its files in `folder`. `group`: what it runs in; must outlive this.
  Haproxy(const std::filesystem::path& folder, const std::string& name, Settings settings,
          const ControlGroup& group);
  ~Haproxy();
  Haproxy(const Haproxy&) = delete;
  Haproxy& operator=(const Haproxy&) = delete;

  /// Empty when it answers on its socket; else what it said.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] const std::filesystem::path& socket_path() const { return socket_; }

  [[nodiscard]] pid_t pid() const { return process_ ? process_->pid() : -1; }

  /// What the Runtime API answers; "" when nothing does.
  [[nodiscard]] std::string command(std::string_view text) const;

  [[nodiscard]] std::vector<ServerStatistics> statistics() const;

  /// A new process takes the listeners over, the old one finishes what it has. False: not within
  /// seconds.
  [[nodiscard]] bool reload();

  /// Ended and started anew: for some tens of milliseconds nobody listens.
  [[nodiscard]] bool restart();

  /// Written and used from the next reload() or restart() on.
  void change(Settings settings);

 private:
  void write_configuration() const;
  [[nodiscard]] bool start(std::vector<std::string> more);

  std::filesystem::path configuration_, socket_;
  Settings settings_;
  const ControlGroup& group_;
  uint16_t port_;
  std::string error_, said_;
  std::unique_ptr<app::ChildProcess> old_, process_;
};

}  // namespace spillway::balance
