#include "app/scenario/process_stats.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/scenario/record.h"

namespace spillway::app {

namespace {

// NOLINTNEXTLINE(misc-include-cleaner): of pid_t, which several headers of the system define.
std::map<std::string, CpuUse> threads_of(pid_t pid) {
  std::map<std::string, CpuUse> threads;
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    std::ifstream account(task.path() / "schedstat");
    double ran_ns = 0;
    double waited_ns = 0;
    account >> ran_ns >> waited_ns;
    threads[task.path().filename()] = {.ran_s = ran_ns / 1e9, .waited_s = waited_ns / 1e9};
  }
  return threads;
}

}  // namespace

CpuUse cpu_of(pid_t pid) {
  CpuUse sum;
  for (const auto& [thread, use] : threads_of(pid)) {
    sum.ran_s += use.ran_s;
    sum.waited_s += use.waited_s;
  }
  return sum;
}

double resident_of(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::chrono::nanoseconds StarvationWatch::longest_wait() {
  double longest_s = 0;
  for (const auto& [thread, use] : threads_of(pid_)) {
    auto& last = waited_s_[thread];
    longest_s = std::max(longest_s, use.waited_s - last);
    last = use.waited_s;
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(longest_s * 1e9));
}

}  // namespace spillway::app
