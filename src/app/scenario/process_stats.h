#pragma once

#include <chrono>
#include <map>
#include <string>

#include <sys/types.h>

#include "app/scenario/record.h"

namespace spillway::app {

/// CPU of all threads of a process so far; zeros when it is gone or the kernel keeps no account.
[[nodiscard]] CpuUse cpu_of(pid_t pid);

/// Bytes of memory that a process holds; 0 when it is gone.
[[nodiscard]] double resident_of(pid_t pid);

/// Tells how long the thread of a process that waited longest for a processor has waited since it
/// was last asked.
class StarvationWatch {
 public:
  explicit StarvationWatch(pid_t pid) : pid_(pid) {}

  [[nodiscard]] std::chrono::nanoseconds longest_wait();

 private:
  pid_t pid_;
  std::map<std::string, double> waited_s_;  // by thread
};

}  // namespace spillway::app
