#pragma once

#include <string>

#include <sys/types.h>

namespace spillway::app {

/// A share of CPU for one process: a control group of its own, version 2 or 1, whichever is mounted
/// with the cpu controller. Removed with the object, when the process has ended.
class CpuQuota {
 public:
  CpuQuota() = default;
  ~CpuQuota();
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  /// Makes the group for `cores` of CPU and moves `pid` into it. "" or why that cannot be done
  /// here.
  [[nodiscard]] std::string apply(double cores, pid_t pid);

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace spillway::app
