#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spillway::app {

/// What there is to say about one model file.
struct ModelReport {
  std::string path;
  bool serves = false;
  std::string reason{};  ///< A ModelErrc's name, or "unreadable"; empty when it serves.
  std::string why{};     ///< One sentence; empty when it serves.
  std::string name{};
  std::string kind{};
  size_t columns = 0;
  size_t trees = 0;
  size_t nodes = 0;
  size_t parity_rows = 0;
};

/// Judges the file as the bidder would.
[[nodiscard]] ModelReport report_on(const std::string& path);

[[nodiscard]] std::string text_of(const ModelReport& report);
[[nodiscard]] std::string json_of(const ModelReport& report);

/// Reads rows as CSV, features named in the first line, empty fields missing, and writes one
/// probability a line. The error names the line. `bytes` is a model file that serves.
[[nodiscard]] base::Result<void, std::string> eval_model(std::string_view bytes, std::istream& rows,
                                                         std::ostream& out);

}  // namespace spillway::app
