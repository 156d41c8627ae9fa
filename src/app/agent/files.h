#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/stream.h"

namespace spillway::app::agent {

/// Lines appended to a file that is renamed to NAME.1 when it would grow above a size; "-" is the
/// standard output, which never is. What cannot be written is counted and lost. One thread; a line
/// is one write, so that a slow disk costs a tick, not a poll.
class LineFile {
 public:
  LineFile(std::string name, uint64_t most_bytes);

  void append(std::string line);

  [[nodiscard]] uint64_t lines() const { return lines_; }

  [[nodiscard]] uint64_t failures() const { return failures_; }

 private:
  [[nodiscard]] bool open();

  std::string name_;
  uint64_t most_bytes_;
  net::UniqueFd file_;
  uint64_t bytes_ = 0;
  bool torn_ = false;  ///< The file ends within a line.
  uint64_t lines_ = 0;
  uint64_t failures_ = 0;
};

/// What an agent finds again after a restart.
struct SavedState {
  double weight = 0;    ///< 0: none.
  double capacity = 0;  ///< 0: unknown.
  bool drained = false;
  int64_t saved_at_ms = 0;  ///< Wall time.
};

[[nodiscard]] std::string to_text(const SavedState& state);
/// Nothing when the text is not such a state.
[[nodiscard]] std::optional<SavedState> parse_state(std::string_view text);

/// Replaces the file whole; false when that failed.
[[nodiscard]] bool save_state(const std::string& file, const SavedState& state);

}  // namespace spillway::app::agent
