#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/counter.h"

namespace spillway::app::balancing {

/// The file that a HAProxy loads its servers' addresses, weights and states from when it starts
/// (`load-server-state-from-file`), kept as its servers are now: a reload begins with slots that
/// have their instances. Replaced whole, so that a HAProxy that starts meanwhile reads one or the
/// other. One thread.
class StateFile {
 public:
  /// Empty: there is none.
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  /// `states`: what `show servers state BACKEND` answered. Written when more than the times in it
  /// has changed since the last time; false when it could not be, with error().
  bool keep(std::string_view states);

  /// Of the last keep(); "" when it was well.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] uint64_t written() const { return written_.value(); }

  [[nodiscard]] uint64_t failed() const { return failed_.value(); }

 private:
  std::string path_;
  std::string last_;  ///< What is in it, but for times.
  std::string error_;
  base::Counter written_, failed_;
};

}  // namespace spillway::app::balancing
