#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace spillway::relay_floor {

/// A server under test: a child process that says `event=started listen=127.0.0.1:PORT ...` on
/// standard output. Its standard error goes to a file.
class Process {
 public:
  /// Starts `command` (path first) and waits up to 60 s for that line; ends the bench, with what
  /// the child wrote on standard error, when it does not come.
  Process(const std::vector<std::string>& command, const std::string& error_file);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] uint16_t port() const { return port_; }

  /// User and system CPU time of all its threads since its start, in microseconds.
  [[nodiscard]] double cpu_us() const;

  /// Asks it to end, and waits; after 20 s it is killed.
  void stop();

 private:
  pid_t process_ = -1;
  int output_ = -1;
  uint16_t port_ = 0;
};

/// Instructions executed in user mode by each thread, in order of their starting: the totals of
/// what `callgrind --separate-threads=yes --callgrind-out-file=FILE` left in FILE-01 and so on.
[[nodiscard]] std::vector<double> callgrind_instructions(const std::string& file);

/// System calls by name in a summary of `strace -c -U calls,name`.
[[nodiscard]] std::map<std::string, double> strace_counts(const std::string& summary);

/// A named pipe made at `path`: what is written into it until every writer is gone.
class NamedPipe {
 public:
  explicit NamedPipe(const std::string& path);
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  ~NamedPipe();

  [[nodiscard]] std::string text() const;

 private:
  std::string path_;
  int fd_;
};

}  // namespace spillway::relay_floor
