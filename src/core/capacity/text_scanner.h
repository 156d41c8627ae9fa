#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "capacity/sample_text.h"

namespace spillway::capacity {

/// A value as it stands: a string without its escapes, or the bytes of a number or word.
struct Token {
  bool is_string = false;
  std::string text;
};

/// Takes a flat JSON object apart, token by token. Any bytes; never reads past them. The line must
/// outlive this.
class TextScanner {
 public:
  explicit TextScanner(std::string_view line) : line_(line) {}

  /// Skips blanks, and `wanted` if it is next.
  bool take(char wanted);

  /// Whether nothing but blanks is left.
  bool at_end();

  /// Appends a string's bytes to `text`. Each of these: the reason it cannot be, or nothing.
  std::optional<TextErrc> string(std::string& text);

  /// A string, or what stands up to the next comma, brace or blank.
  std::optional<TextErrc> value(Token& token);

  /// Of the next byte.
  [[nodiscard]] size_t offset() const { return at_; }

 private:
  void skip_blanks();
  bool escape(std::string& text);

  std::string_view line_;
  size_t at_ = 0;
};

}  // namespace spillway::capacity
