#include "app/load/request_files.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "app/config/config_file.h"
#include "base/result.h"

namespace spillway::app {

namespace {

constexpr size_t kBytesMax = size_t{1} << 30;
constexpr size_t kRequestsMax = 100'000;

using Texts = std::vector<std::string>;

/// Appends the requests of one file; "" or what is wrong.
std::string append_file(const std::filesystem::path& path, Texts& out, size_t& bytes) {
  const auto text = read_whole_file(path.string(), kBytesMax - bytes);
  if (!text) {
    return text.error();
  }
  bytes += text->size();
  if (path.extension() == ".json") {
    out.push_back(*text);
  }
  std::string_view rest = path.extension() == ".json" ? std::string_view{} : *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      out.emplace_back(line);
    }
  }
  return out.size() > kRequestsMax ? fmt::format("more than {} requests", kRequestsMax) : "";
}

std::vector<std::filesystem::path> files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return {path};
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".json" || entry.path().extension() == ".ndjson") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

base::Result<Texts, std::string> read_requests(const std::string& path) {
  Texts out;
  size_t bytes = 0;
  for (const auto& file : files_of(path)) {
    if (const std::string problem = append_file(file, out, bytes); !problem.empty()) {
      return std::unexpected(problem);
    }
  }
  if (out.empty()) {
    return std::unexpected(fmt::format("{}: no request in it", path));
  }
  return out;
}

}  // namespace spillway::app
