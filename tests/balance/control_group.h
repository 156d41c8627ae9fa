#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace spillway::balance {

/// A share of one processor for a program and all its children, and the account of what they used:
/// control groups of version 2 where they hold the cpu controller, else of version 1 (`cpu` and
/// `cpuacct`). Named after this process, so that two test programs never meet; removed at the end,
/// which needs the members to have ended. Within its share it goes before other programs, ten to
/// one, so that busy neighbours do not make a small machine smaller. Needs root.
class ControlGroup {
 public:
  /// `name`: of a back end. `cores` 0: no quota, precedence alone. `period`: who has used the share
  /// up stands still until the next begins.
  ControlGroup(std::string_view name, double cores, std::chrono::microseconds period);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// Empty, or why there is none.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] double cores() const { return cores_; }

  /// The process with all its threads; false when it was refused.
  [[nodiscard]] bool take_in(pid_t pid) const;

  /// CPU used by members so far, those that ended too.
  [[nodiscard]] std::chrono::nanoseconds used() const;

  [[nodiscard]] bool v2() const { return v2_; }

  /// Where the quota is, and where the use: one folder with version 2.
  [[nodiscard]] const std::filesystem::path& quota_folder() const { return quota_folder_; }

  [[nodiscard]] const std::filesystem::path& usage_folder() const { return usage_folder_; }

 private:
  [[nodiscard]] std::string make();

  double cores_;
  std::chrono::microseconds period_;
  bool v2_ = false;
  std::filesystem::path quota_folder_, usage_folder_;
  std::string error_;
};

/// Removes what test programs that were killed have left behind; theirs that run stay.
void remove_stale_groups();

}  // namespace spillway::balance
