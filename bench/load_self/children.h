#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace spillway::load_self {

/// A child process with its standard output in a pipe; ended by its id.
class Child {
 public:
  /// `words`: the program and its arguments. Standard error goes to /dev/null.
  explicit Child(const std::vector<std::string>& words);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// All it prints, until it ends; its exit status, -1 when it did not end by itself.
  [[nodiscard]] std::string read_to_end(int& status);

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

/// nginx with one process that answers everything at once, on a port that was free a moment ago.
class Nginx {
 public:
  Nginx();
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;
  ~Nginx();

  /// Whether it answers within 5 s.
  [[nodiscard]] bool up() const;

  [[nodiscard]] std::string url() const;

  /// Stands still: takes what comes, answers nothing.
  void stop_for(double seconds) const;

 private:
  std::filesystem::path folder_;
  uint16_t port_ = 0;
  std::unique_ptr<Child> child_;
};

}  // namespace spillway::load_self
