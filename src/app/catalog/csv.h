#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app::catalog {

/// Reads comma-separated text record by record: fields in quotes may hold commas, line ends and
/// doubled quotes; lines end with LF or CRLF. Empty lines are skipped.
/// Source: RFC 4180.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text);

  /// The next record into `fields`; false at the end, or at a quote that is never closed (see
  /// broken()).
  bool next(std::vector<std::string>& fields);

  /// Line, from 1, on which the last record began.
  [[nodiscard]] size_t line() const { return record_line_; }

  /// Whether a quote was opened and not closed.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  bool read_field(std::string& field);
  bool read_quoted(std::string& field);

  std::string_view text_;
  size_t at_ = 0;
  size_t line_ = 1;
  size_t record_line_ = 1;
  bool broken_ = false;
};

/// Appends a field, in quotes when it needs them.
void append_csv(std::string& out, std::string_view field);

}  // namespace spillway::app::catalog
