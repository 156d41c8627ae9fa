#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/demo/child_process.h"
#include "balance/control_group.h"
#include "balance/farm.h"
#include "balance/sensor.h"

namespace spillway::balance {

/// What the agents of a farm are told.
struct AgentOptions {
  std::string law = "capacity";  ///< As in the configuration; "equal": there are no agents.
  std::chrono::milliseconds period{2000};
  double gain = 0.3;                       ///< Of the laws that integrate.
  double setpoint = 0.45;                  ///< Of `setpoint`.
  std::chrono::milliseconds ramp{45'000};  ///< Of newcomers.
  uint16_t imds_port = 0;   ///< Of a FakeImds that the first back end asks; 0: none does.
  uint16_t redis_port = 0;  ///< Samples and members go through this Redis; 0: from peer to peer.
  size_t absent = 0;        ///< The last ones of the farm have no agent at first: they join later.
  size_t doubtful = SIZE_MAX;  ///< The back end whose sensor can be made to lie.
};

/// A `spillway agent` for each back end of a farm, as processes of their own, ended by their ids.
/// One thread.
class Agents {
 public:
  /// `folder`: for their configurations. `group`: what they run in. All must outlive this.
  Agents(const Farm& farm, AgentOptions options, std::filesystem::path folder,
         const ControlGroup& group);
  ~Agents();  ///< Kills them: nobody waits for what they drain.
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Empty when all answer.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Where a back end's agent listens or will; 0: it never has one.
  [[nodiscard]] uint16_t port(size_t backend) const;

  /// Starts (again) the agent of a back end, an absent one perhaps.
  void start(size_t backend);

  /// As a crash does.
  void kill(size_t backend);

  /// True once it has ended, and before it was started.
  [[nodiscard]] bool ended(size_t backend);

  /// The body of GET `target` of its admin listener; empty when there is none.
  [[nodiscard]] std::string ask(size_t backend, const std::string& target) const;

  /// Of the doubtful back end.
  [[nodiscard]] size_t doubtful() const { return options_.doubtful; }

  [[nodiscard]] Sensor& sensor() { return *sensor_; }

  /// CPU used by all threads of one so far, and its private memory in KiB (-1: it is not there).
  [[nodiscard]] double cpu_s(size_t backend) const;
  [[nodiscard]] long private_kib(size_t backend) const;

 private:
  struct One {
    uint16_t port = 0, admin_port = 0, peer_port = 0;
    std::unique_ptr<app::ChildProcess> process;
    bool started = false;
  };

  [[nodiscard]] std::string configuration(size_t backend) const;

  const Farm& farm_;
  AgentOptions options_;
  std::filesystem::path folder_;
  const ControlGroup& group_;
  std::string error_, said_;
  std::unique_ptr<Sensor> sensor_;
  std::vector<One> all_;  // ends first: its programs still speak then
};

}  // namespace spillway::balance
