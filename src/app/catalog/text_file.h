#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "adapters/catalog_source.h"

namespace spillway::app::catalog {

/// The whole text of a file. Error: one sentence with the path.
[[nodiscard]] adapters::StoreResult<std::string> read_text(const std::string& path);

/// Text written piece by piece to a file in the place of what is there, or to stdout ("-").
class TextStream {
 public:
  explicit TextStream(std::string path);
  ~TextStream();  ///< Leaves what was there when end() was not called.
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;

  void write(std::string_view text);

  /// Puts the file in its place.
  void end();

  /// One sentence with the path; "" while all is well. Nothing is written after the first.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void fail();

  std::string path_;
  std::string beside_;
  std::FILE* file_;
  std::string error_;
};

/// Puts a file with this text in the place of what is there, at once and whole; "-" is stdout.
adapters::StoreResult<void> write_text(const std::string& path, std::string_view text);

}  // namespace spillway::app::catalog
