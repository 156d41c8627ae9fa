#include "app/agent/files.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <ios>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/config/config_file.h"
#include "capacity/weight.h"
#include "net/stream.h"

namespace spillway::app::agent {
namespace {

constexpr std::string_view kStateMark = "spillway-agent-state 1 ";

std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const char* const first = text.data();
  const auto [end, error] = std::from_chars(first, first + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - first));
  text.remove_prefix(text.empty() ? 0 : 1);
  return value;
}

}  // namespace

LineFile::LineFile(std::string name, uint64_t most_bytes)
    : name_(std::move(name)), most_bytes_(most_bytes) {}

bool LineFile::open() {
  if (file_) {
    return true;
  }
  file_.reset(name_ == "-"
                  ? ::dup(STDOUT_FILENO)
                  : ::open(name_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  struct stat about{};
  torn_ = name_ != "-" && ends_within_a_line(name_);
  bytes_ = file_ && ::fstat(file_.fd(), &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
  return static_cast<bool>(file_);
}

void LineFile::append(std::string line) {
  line += '\n';
  if (open() && name_ != "-" && bytes_ > 0 && bytes_ + line.size() > most_bytes_) {
    file_.reset();
    if (std::rename(name_.c_str(), (name_ + ".1").c_str()) != 0) {
      ++failures_;
      return;
    }
  }
  if (!open()) {
    ++failures_;
    return;
  }
  if (torn_) {
    line.insert(line.begin(), '\n');
  }
  const ssize_t count = ::write(file_.fd(), line.data(), line.size());
  if (count > 0) {
    bytes_ += static_cast<size_t>(count);
    torn_ = line[static_cast<size_t>(count) - 1] != '\n';
  }
  if (count == static_cast<ssize_t>(line.size())) {
    ++lines_;
  } else {
    ++failures_;
  }
}

std::string to_text(const SavedState& state) {
  return fmt::format("{}{} {} {} {}\n", kStateMark, state.weight, state.capacity,
                     state.drained ? 1 : 0, state.saved_at_ms);
}

std::optional<SavedState> parse_state(std::string_view text) {
  if (!text.starts_with(kStateMark)) {
    return std::nullopt;
  }
  text.remove_prefix(kStateMark.size());
  std::array<double, 4> numbers{};
  for (auto& number : numbers) {
    const auto value = take_number(text);
    if (!value || *value < 0 || *value > 1e15) {
      return std::nullopt;
    }
    number = *value;
  }
  const auto [weight, known_capacity, drained, saved_at_ms] = numbers;
  if (weight > capacity::kMostWeight || drained > 1) {
    return std::nullopt;
  }
  return SavedState{.weight = weight,
                    .capacity = known_capacity,
                    .drained = drained == 1,
                    .saved_at_ms = static_cast<int64_t>(saved_at_ms)};
}

bool save_state(const std::string& file, const SavedState& state) {
  const std::string next = file + ".new";
  {
    std::ofstream out(next, std::ios::trunc);
    out << to_text(state) << std::flush;
    if (!out) {
      return false;
    }
  }
  return std::rename(next.c_str(), file.c_str()) == 0;
}

}  // namespace spillway::app::agent
