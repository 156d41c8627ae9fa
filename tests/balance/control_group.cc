#include "balance/control_group.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

namespace spillway::balance {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "spillway-balance-";

bool write_to(const fs::path& path, std::string_view text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  return file.good();
}

bool holds_word(const fs::path& path, std::string_view wanted) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (word == wanted) {
      return true;
    }
  }
  return false;
}

/// A controller of version 1 has a folder of its own or shares that of `cpu,cpuacct`.
fs::path v1_root(const fs::path& root, const char* controller) {
  return fs::exists(root / controller / "cgroup.procs") ? root / controller : root / "cpu,cpuacct";
}

/// Members that were just killed leave the group a moment later.
void remove_group(const fs::path& folder) {
  for (int i = 0; i < 100 && !folder.empty() && ::rmdir(folder.c_str()) != 0 && errno == EBUSY;
       ++i) {
    ::poll(nullptr, 0, 10);
  }
}

}  // namespace

void remove_stale_groups() {
  const fs::path root = "/sys/fs/cgroup";
  for (const fs::path& parent : {root, v1_root(root, "cpu"), v1_root(root, "cpuacct")}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(parent, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kPrefix) &&
          ::kill(static_cast<pid_t>(std::strtol(name.c_str() + kPrefix.size(), nullptr, 10)), 0) !=
              0) {
        ::rmdir(entry.path().c_str());
      }
    }
  }
}

ControlGroup::ControlGroup(std::string_view name, double cores, std::chrono::microseconds period)
    : cores_(cores), period_(period) {
  const fs::path root = "/sys/fs/cgroup";
  v2_ = holds_word(root / "cgroup.subtree_control", "cpu");
  const std::string own = fmt::format("{}{}-{}", kPrefix, ::getpid(), name);
  quota_folder_ = (v2_ ? root : v1_root(root, "cpu")) / own;
  usage_folder_ = (v2_ ? root : v1_root(root, "cpuacct")) / own;
  error_ = make();
}

std::string ControlGroup::make() {
  for (const auto& folder : {quota_folder_, usage_folder_}) {
    std::error_code failed;
    fs::create_directory(folder, failed);
    if (failed) {
      return fmt::format("no control group can be made at {}: {} (this needs root)",
                         folder.string(), failed.message());
    }
  }
  if (cores_ == 0) {
    (void)write_to(quota_folder_ / (v2_ ? "cpu.weight" : "cpu.shares"), v2_ ? "1000" : "10240");
    return "";
  }
  const auto quota_us = std::lround(cores_ * static_cast<double>(period_.count()));
  const bool limited =
      v2_ ? write_to(quota_folder_ / "cpu.max", fmt::format("{} {}", quota_us, period_.count())) &&
                write_to(quota_folder_ / "cpu.weight", "1000")
          : write_to(quota_folder_ / "cpu.cfs_period_us", std::to_string(period_.count())) &&
                write_to(quota_folder_ / "cpu.cfs_quota_us", std::to_string(quota_us)) &&
                write_to(quota_folder_ / "cpu.shares", "10240");
  return limited ? "" : fmt::format("{} takes no quota", quota_folder_.string());
}

ControlGroup::~ControlGroup() {
  remove_group(quota_folder_);
  if (usage_folder_ != quota_folder_) {
    remove_group(usage_folder_);
  }
}

bool ControlGroup::take_in(pid_t pid) const {
  const auto word = std::to_string(pid);
  return write_to(quota_folder_ / "cgroup.procs", word) &&
         write_to(usage_folder_ / "cgroup.procs", word);
}

std::chrono::nanoseconds ControlGroup::used() const {
  if (!v2_) {
    int64_t ns = 0;
    std::ifstream(usage_folder_ / "cpuacct.usage") >> ns;
    return std::chrono::nanoseconds(ns);
  }
  std::ifstream stat(usage_folder_ / "cpu.stat");
  std::string name;
  for (int64_t value = 0; stat >> name >> value;) {
    if (name == "usage_usec") {
      return std::chrono::microseconds(value);
    }
  }
  return {};
}

}  // namespace spillway::balance
