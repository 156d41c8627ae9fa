#pragma once

#include <chrono>
#include <cstdint>

namespace spillway::base {

using Duration = std::chrono::nanoseconds;

/// A point in monotonic time. Pure code is handed one as `now`; it never reads a clock itself.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Later than every instant that occurs: "no deadline".
inline constexpr Instant kNever = Instant::max();

/// `duration` in milliseconds with its fraction, for people and metrics.
[[nodiscard]] constexpr double to_ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Source of monotonic time, for drivers: net/ has the operating system's, sim/ the virtual one.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  /// Never less than what an earlier call returned.
  [[nodiscard]] virtual Instant now() const noexcept = 0;
};

}  // namespace spillway::base
