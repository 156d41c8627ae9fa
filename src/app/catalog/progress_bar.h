#pragma once

#include <cstddef>

namespace spillway::app::catalog {

/// A bar on the terminal behind stderr, and nothing where there is none. One thread.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();  ///< Takes the bar away.
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws when the percentage is another one than before. Requires total > 0.
  void show(size_t done, size_t total);

 private:
  bool terminal_;
  size_t shown_percent_ = 0;
  bool drawn_ = false;
};

}  // namespace spillway::app::catalog
