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

  [[nodiscard]] size_t count() const { return count_; }

  [[nodiscard]] const std::vector<std::string>& kept() const { return kept_; }

 private:
  size_t count_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace spillway::app::catalog
