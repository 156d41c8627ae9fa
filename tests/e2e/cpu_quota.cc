#include "e2e/cpu_quota.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

namespace spillway::e2e {
namespace {

bool write_to(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  return file.good();
}

bool has_cpu_controller(const std::string& root) {
  std::ifstream controllers(root + "/cgroup.subtree_control");
  for (std::string word; controllers >> word;) {
    if (word == "cpu") {
      return true;
    }
  }
  return false;
}

}  // namespace

CpuQuota::CpuQuota(double share, std::chrono::microseconds period) {
  const std::string root = "/sys/fs/cgroup";
  const bool v2 = has_cpu_controller(root);
  std::string parent = v2 ? root : root + "/cpu";
  if (!v2 && !std::filesystem::exists(parent + "/cpu.cfs_quota_us")) {
    parent = root + "/cpu,cpuacct";
  }
  const auto folder = fmt::format("{}/spillway-quota-{}", parent, ::getpid());
  std::error_code failed;
  if (!std::filesystem::create_directory(folder, failed)) {
    error_ = fmt::format("no control group can be made at {}: {}", folder, failed.message());
    return;
  }
  folder_ = folder;
  const auto quota_us = static_cast<long>(share * static_cast<double>(period.count()));
  const bool limited =
      v2 ? write_to(folder_ + "/cpu.max", fmt::format("{} {}", quota_us, period.count()))
         : write_to(folder_ + "/cpu.cfs_period_us", std::to_string(period.count())) &&
               write_to(folder_ + "/cpu.cfs_quota_us", std::to_string(quota_us));
  if (!limited) {
    error_ = fmt::format("{} takes no quota", folder_);
  }
}

CpuQuota::~CpuQuota() {
  if (!folder_.empty()) {
    ::rmdir(folder_.c_str());
  }
}

bool CpuQuota::take_in(pid_t pid) const {
  return write_to(folder_ + "/cgroup.procs", std::to_string(pid));
}

}  // namespace spillway::e2e
