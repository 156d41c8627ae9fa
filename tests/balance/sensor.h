#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "balance/control_group.h"

namespace spillway::balance {

/// A tree that looks like /sys/fs/cgroup and can be made to lie about one group's use of CPU. Only
/// for control groups of version 1.
class Sensor {
 public:
  /// `root` is made and belongs to this.
  Sensor(const ControlGroup& group, const std::filesystem::path& root);
  ~Sensor();
  Sensor(const Sensor&) = delete;
  Sensor& operator=(const Sensor&) = delete;

  [[nodiscard]] const std::string& error() const { return error_; }

  /// What the agent is told is /sys/fs/cgroup.
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  /// From now on this share of what is used is shown: 0 is a frozen sensor, 0.1 one that lies.
  void show(double share);

  /// The truth again.
  void be_honest();

 private:
  void point_to(const std::filesystem::path& folder) const;
  void write_usage() const;
  void stop();

  const ControlGroup& group_;
  std::filesystem::path root_;
  std::string error_;
  int64_t from_ns_ = 0;
  double share_ = 1;
  std::atomic<bool> lying_{false};
  std::thread thread_;
};

}  // namespace spillway::balance
