#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace spillway::app::catalog {

/// What is wrong with files, one sentence each with its place. The first kMost are kept, the rest
/// counted.
class FileProblems {
 public:
  static constexpr size_t kMost = 1000;

  void add(std::string problem) {
    ++count_;
    if (kept_.size() < kMost) {
      kept_.push_back(std::move(problem));
    }
  }

  /// That nothing can be read there at all.
  void add_unreadable(std::string problem) {
    is_unreadable_ = true;
    add(std::move(problem));
  }

  [[nodiscard]] bool is_unreadable() const { return is_unreadable_; }

  [[nodiscard]] size_t count() const { return count_; }

  [[nodiscard]] const std::vector<std::string>& kept() const { return kept_; }

 private:
  size_t count_ = 0;
  bool is_unreadable_ = false;
  std::vector<std::string> kept_;
};

}  // namespace spillway::app::catalog
