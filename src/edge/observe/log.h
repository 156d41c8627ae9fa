#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace spillway::observe {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError };

/// The process's log: one event a line, `event=... key=value`, written by a background thread; when
/// its bounded queue is full, the oldest queued events are dropped and counted, and nobody waits.
/// ERROR means that a person must act. A line reads `2026-01-31T23:59:59.123Z WARN event=...`.
/// Any thread. Memory: about `queue` x 0.4 KiB, and at most kLineBytes more for each long line.
class Log {
 public:
  static constexpr size_t kQueue = 4096;
  static constexpr size_t kLineBytes = 8192;  ///< A longer event is cut there and says `cut=true`.

  /// To standard error. `level`: events below it are not written.
  explicit Log(Level level);
  /// To an open descriptor, which stays the caller's, through a queue of `queue` events, at
  /// least 1.
  Log(Level level, int descriptor, size_t queue);
  ~Log();  ///< Writes what is queued.
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  template <typename... Args>
  void event(Level level, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level)) {
      write(level, fmt::format(format, std::forward<Args>(args)...));
    }
  }

  [[nodiscard]] bool enabled(Level level) const;

  /// One event as text; line ends in it become spaces. Below the level it is ignored.
  void write(Level level, std::string line);

  /// Events lost since the start: to a full queue, or to a descriptor that refuses them.
  [[nodiscard]] uint64_t dropped() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// A value for `key=value`: quoted and escaped when it is empty or has white space, quotes, `=`,
/// backslashes or control bytes.
[[nodiscard]] std::string quoted(std::string_view value);

}  // namespace spillway::observe
