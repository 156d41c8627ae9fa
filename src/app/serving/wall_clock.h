#pragma once

#include <chrono>
#include <cstdint>

namespace spillway::app {

/// Milliseconds since the epoch.
[[nodiscard]] inline int64_t wall_clock_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace spillway::app
