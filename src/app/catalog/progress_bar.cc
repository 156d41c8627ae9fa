#include "app/catalog/progress_bar.h"

#include <cstddef>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

namespace spillway::app::catalog {

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (drawn_) {
    fmt::print(stderr, "\r\033[K");
  }
}

void ProgressBar::show(size_t done, size_t total) {
  constexpr size_t kWidth = 40;
  constexpr size_t kWhole = 100;
  const size_t percent = done * kWhole / total;
  if (!terminal_ || (drawn_ && percent == shown_percent_)) {
    return;
  }
  drawn_ = true;
  shown_percent_ = percent;
  const size_t filled = kWidth * percent / kWhole;
  fmt::print(stderr, "\r[{}{}] {:3} %  {} of {} rows\033[K", std::string(filled, '='),
             std::string(kWidth - filled, ' '), percent, done, total);
  std::fflush(stderr);
}

}  // namespace spillway::app::catalog
