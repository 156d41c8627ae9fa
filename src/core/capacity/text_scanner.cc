#include "capacity/text_scanner.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "capacity/sample_text.h"

namespace spillway::capacity {

void TextScanner::skip_blanks() {
  while (at_ < line_.size() && std::string_view(" \t\r\n").contains(line_[at_])) {
    ++at_;
  }
}

bool TextScanner::take(char wanted) {
  skip_blanks();
  if (at_ >= line_.size() || line_[at_] != wanted) {
    return false;
  }
  ++at_;
  return true;
}

bool TextScanner::at_end() {
  skip_blanks();
  return at_ == line_.size();
}

std::optional<TextErrc> TextScanner::string(std::string& text) {
  if (!take('"')) {
    return TextErrc::kNotAnObject;
  }
  for (; at_ < line_.size(); ++at_) {
    const char byte = line_[at_];
    if (byte == '"') {
      ++at_;
      return std::nullopt;
    }
    if (static_cast<unsigned char>(byte) < 0x20 || (byte == '\\' && !escape(text))) {
      return TextErrc::kBadString;
    }
    if (byte != '\\') {
      text += byte;
    }
  }
  return TextErrc::kBadString;
}

std::optional<TextErrc> TextScanner::value(Token& token) {
  skip_blanks();
  const char first = at_ < line_.size() ? line_[at_] : '\0';
  if (first == '{' || first == '[') {
    return TextErrc::kNotFlat;
  }
  if (first == '"') {
    token.is_string = true;
    return string(token.text);
  }
  const size_t end = std::min(line_.find_first_of(",} \t\r\n", at_), line_.size());
  token.text = line_.substr(at_, end - at_);
  if (token.text.empty()) {
    return TextErrc::kBadValue;
  }
  at_ = end;
  return std::nullopt;
}

/// At a backslash; stays at the last byte of the escape.
bool TextScanner::escape(std::string& text) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (++at_ >= line_.size()) {
    return false;
  }
  if (const size_t simple = kNames.find(line_[at_]); simple != std::string_view::npos) {
    text += kMeant[simple];
    return true;
  }
  if (line_[at_] != 'u' || line_.size() - at_ < 5) {
    return false;
  }
  unsigned code = 0;
  const char* const first = line_.data() + at_ + 1;
  const auto read = std::from_chars(first, first + 4, code, 16);
  if (read.ptr != first + 4 || code >= 0x80) {
    return false;
  }
  at_ += 4;
  text += static_cast<char>(code);
  return true;
}

}  // namespace spillway::capacity
