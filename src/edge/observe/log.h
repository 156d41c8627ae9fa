#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace spillway::observe {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError };

/// The process's log: one event a line, `event=... key=value`, written by a background thread; when
/// its bounded queue is full, events are dropped and counted, and nobody waits. ERROR means that a
/// person must act. Any thread.
class Log {
 public:
  /// To standard error. `level`: events below it are not written.
  explicit Log(Level level);
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
  void write(Level level, std::string line);
  [[nodiscard]] uint64_t dropped() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// A value for `key=value`: quoted and escaped when it has white space, quotes or control bytes.
[[nodiscard]] std::string quoted(std::string_view value);

}  // namespace spillway::observe
