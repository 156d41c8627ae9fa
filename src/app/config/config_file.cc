#include "app/config/config_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "base/result.h"

namespace spillway::app {

base::Result<std::string, std::string> read_whole_file(const std::string& path,
                                                       size_t limit_bytes) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr) {
    return std::unexpected(
        fmt::format("{}: cannot be opened: {}", path, std::generic_category().message(errno)));
  }
  std::string text;
  std::array<char, 65536> chunk{};
  size_t count = 0;
  while ((count = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0) {
    text.append(chunk.data(), count);
    if (text.size() > limit_bytes) {
      return std::unexpected(fmt::format("{}: is larger than {} bytes", path, limit_bytes));
    }
  }
  if (std::ferror(file.get()) != 0) {
    return std::unexpected(
        fmt::format("{}: cannot be read: {}", path, std::generic_category().message(errno)));
  }
  return text;
}

base::Result<std::string, std::string> read_config_file(const std::string& path) {
  constexpr size_t kLimitBytes = size_t{16} << 20;
  return read_whole_file(path, kLimitBytes);
}

}  // namespace spillway::app
