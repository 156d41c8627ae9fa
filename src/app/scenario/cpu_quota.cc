#include "app/scenario/cpu_quota.h"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace spillway::app {

namespace {

// Short, so that a group out of quota stands still for milliseconds and not for a tenth of a
// second.
constexpr int kPeriodUs = 10'000;

struct Mount {
  std::string folder;
  bool v2 = false;
};

bool has_word(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    const size_t end = list.find(separator);
    if (list.substr(0, end) == word) {
      return true;
    }
    list = end == std::string_view::npos ? "" : list.substr(end + 1);
  }
  return false;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Version 1 with the cpu controller, else version 2 that has it.
Mount find_mount() {
  std::ifstream mounts("/proc/mounts");
  Mount found;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string folder;
    std::string kind;
    std::string options;
    words >> device >> folder >> kind >> options;
    if (kind == "cgroup" && has_word(options, "cpu", ',')) {
      return {.folder = folder, .v2 = false};
    }
    if (kind == "cgroup2" && has_word(first_line(folder + "/cgroup.controllers"), "cpu", ' ')) {
      found = {.folder = folder, .v2 = true};
    }
  }
  return found;
}

/// The group of this process at that mount: "/" or deeper.
std::string own_group(const Mount& mount) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (mount.v2 ? controllers.empty() : has_word(controllers, "cpu", ',')) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

/// "" or why the text could not be written.
std::string put(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? "" : fmt::format("{}: {}", path, std::generic_category().message(errno));
}

}  // namespace

CpuQuota::~CpuQuota() {
  // A process that has just ended leaves its group a moment later.
  for (int i = 0; !folder_.empty() && ::rmdir(folder_.c_str()) != 0 && errno == EBUSY && i < 100;
       ++i) {
    ::poll(nullptr, 0, 10);
  }
}

std::string CpuQuota::apply(double cores, pid_t pid) {
  const Mount mount = find_mount();
  if (mount.folder.empty()) {
    return "no control groups with a cpu controller are mounted";
  }
  std::string parent = mount.folder + own_group(mount);
  if (::access(parent.c_str(), F_OK) != 0) {
    parent = mount.folder;  // a container shows its own group as the root
  }
  const std::string folder = fmt::format("{}/spillway-scenario-{}", parent, pid);
  if (mount.v2) {
    put(parent + "/cgroup.subtree_control", "+cpu");  // it may be there already
  }
  if (::mkdir(folder.c_str(), 0755) != 0) {
    return fmt::format("{}: {}", folder, std::generic_category().message(errno));
  }
  folder_ = folder;
  const int quota_us = static_cast<int>(cores * kPeriodUs);
  // The quota is what is to hold it back, not the farm, the load or anybody else's processes.
  put(folder + (mount.v2 ? "/cpu.weight" : "/cpu.shares"), mount.v2 ? "10000" : "100000");
  std::string problem;
  if (mount.v2) {
    problem = put(folder + "/cpu.max", fmt::format("{} {}", quota_us, kPeriodUs));
  } else {
    problem = put(folder + "/cpu.cfs_period_us", fmt::format("{}", kPeriodUs));
    problem =
        problem.empty() ? put(folder + "/cpu.cfs_quota_us", fmt::format("{}", quota_us)) : problem;
  }
  return problem.empty() ? put(folder + "/cgroup.procs", fmt::format("{}", pid)) : problem;
}

}  // namespace spillway::app
