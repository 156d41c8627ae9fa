#include "app/balancer/state_file.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <ios>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace spillway::app::balancing {

namespace {

constexpr std::string_view kVersion = "1\n";  // of the format
constexpr size_t kTimeWord = 9;               // srv_time_since_last_change, in seconds

/// `states` without the words that only tell how much time has passed.
std::string without_times(std::string_view states) {
  std::string out;
  size_t word = 0;
  for (const char c : states) {
    word = c == '\n' ? 0 : word + (c == ' ' ? 1 : 0);
    if (word != kTimeWord) {
      out += c;
    }
  }
  return out;
}

}  // namespace

bool StateFile::keep(std::string_view states) {
  if (path_.empty() || !states.starts_with(kVersion)) {
    return true;
  }
  std::string now = without_times(states);
  if (now == last_) {
    return true;
  }
  const std::string next = path_ + ".new";
  errno = 0;
  std::ofstream out(next, std::ios::trunc);
  // A last line without its end is a corrupted file to HAProxy.
  out << states << (states.ends_with('\n') ? "" : "\n") << std::flush;
  const bool whole = static_cast<bool>(out);
  out.close();
  if (!whole || std::rename(next.c_str(), path_.c_str()) != 0) {
    error_ = fmt::format("{}: {}", path_, std::generic_category().message(errno));
    failed_.add();
    return false;
  }
  error_.clear();
  last_ = std::move(now);
  written_.add();
  return true;
}

}  // namespace spillway::app::balancing
