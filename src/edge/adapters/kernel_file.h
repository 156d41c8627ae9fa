#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/stream.h"

namespace spillway::adapters {

/// A small file of the kernel that is read again and again. Where its content is made at each
/// reading (/proc, control groups) it is kept open and costs one system call a reading; elsewhere
/// it is opened each time, as it may have been replaced. When what was open has gone, as with a
/// control group, what has its name now is opened.
///
/// One thread.
class KernelFile {
 public:
  KernelFile() = default;

  explicit KernelFile(std::string path) : path_(std::move(path)) {}

  /// The content, in `scratch`, which grows to the largest file's size, 1 MiB at most. Nothing when
  /// there is no path or it cannot be read.
  [[nodiscard]] std::optional<std::string_view> read(std::string& scratch);

 private:
  std::string path_;
  net::UniqueFd kept_;
};

}  // namespace spillway::adapters
