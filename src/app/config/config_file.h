#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace spillway::app {

/// The bytes of a configuration file, at most 16 MiB; the error is one sentence with the path.
[[nodiscard]] base::Result<std::string, std::string> read_config_file(const std::string& path);

/// Any file's bytes, at most `limit_bytes`.
[[nodiscard]] base::Result<std::string, std::string> read_whole_file(const std::string& path,
                                                                     size_t limit_bytes);

/// Whether a file's last line has no end, as after a full disk or a kill: what is appended would be
/// glued to it. False for what is no regular file, is empty or cannot be read.
[[nodiscard]] bool ends_within_a_line(const std::string& path);

}  // namespace spillway::app
