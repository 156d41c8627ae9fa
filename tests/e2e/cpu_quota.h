#pragma once

#include <chrono>
#include <string>

#include <sys/types.h>

namespace spillway::e2e {

/// A control group (v2 where it is mounted, else v1) whose members may use `share` of one
/// processor together. Removed at the end, which needs its members to have ended.
class CpuQuota {
 public:
  /// `period`: a member that has used its share up stands still until the next one begins.
  CpuQuota(double share, std::chrono::microseconds period);
  ~CpuQuota();
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  /// Empty, or why there is none.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// The process with all its threads; false when it was refused.
  [[nodiscard]] bool take_in(pid_t pid) const;

 private:
  std::string folder_;
  std::string error_;
};

}  // namespace spillway::e2e
