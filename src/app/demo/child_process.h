#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace spillway::app {

/// A program started by this one, its two outputs read line by line. Ended by its id and nothing
/// else; it also ends when this process dies. One thread.
class ChildProcess {
 public:
  enum class Output { kStdout, kStderr };
  using OnLine = std::function<void(Output, std::string_view line)>;

  /// What to start. `niceness` below 0 is asked for and does without where it is not permitted.
  struct Command {
    std::string name;     ///< For messages.
    std::string program;  ///< A path.
    std::vector<std::string> args;
    int niceness = 0;
  };

  /// Starts. `error()` is empty, or one sentence.
  ChildProcess(Command command, OnLine on_line);
  ~ChildProcess();  ///< Ends it.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] const std::string& name() const { return command_.name; }

  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Readable descriptors to wait for; -1 at an end.
  [[nodiscard]] int fd(Output output) const { return pipes_[static_cast<size_t>(output)].fd; }

  /// Reads what is there and reports whole lines. Never blocks.
  void read_lines();

  /// Exit status once it has ended (128 + signal when killed); nothing while it runs.
  std::optional<int> poll_exit();

  /// SIGTERM, then SIGKILL when it has not ended after `patience`. Returns the exit status.
  int end(std::chrono::milliseconds patience);

 private:
  struct Pipe {
    int fd = -1;
    std::string partial;
  };

  void read_pipe(Output output);

  Command command_;
  OnLine on_line_;
  pid_t pid_ = -1;
  std::optional<int> exit_;
  std::array<Pipe, 2> pipes_;
  std::string error_;
};

}  // namespace spillway::app
