#pragma once

#include <time.h>

namespace spillway::bench {

/// CPU time of this process so far, user and system, microseconds.
inline double cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace spillway::bench
