#include "app/catalog/csv.h"

#include <string>
#include <string_view>
#include <vector>

namespace spillway::app::catalog {

CsvReader::CsvReader(std::string_view text) : text_(text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text_.starts_with(kByteOrderMark)) {
    at_ = kByteOrderMark.size();
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
    line_ += text_[at_] == '\n' ? 1 : 0;
    ++at_;
  }
  fields.clear();
  record_line_ = line_;
  if (at_ == text_.size()) {
    return false;
  }
  while (read_field(fields.emplace_back())) {
  }
  return !broken_;
}

/// False when it was the record's last.
bool CsvReader::read_field(std::string& field) {
  if (at_ < text_.size() && text_[at_] == '"') {
    ++at_;
    if (!read_quoted(field)) {
      broken_ = true;
      return false;
    }
  }
  while (at_ < text_.size()) {
    const char byte = text_[at_];
    ++at_;
    if (byte == ',') {
      return true;
    }
    if (byte == '\n') {
      ++line_;
      if (field.ends_with('\r')) {
        field.pop_back();
      }
      return false;
    }
    field += byte;
  }
  return false;
}

bool CsvReader::read_quoted(std::string& field) {
  while (at_ < text_.size()) {
    const char byte = text_[at_];
    ++at_;
    line_ += byte == '\n' ? 1 : 0;
    if (byte != '"') {
      field += byte;
    } else if (at_ < text_.size() && text_[at_] == '"') {
      field += '"';
      ++at_;
    } else {
      return true;
    }
  }
  return false;
}

void append_csv(std::string& out, std::string_view field) {
  if (field.find_first_of("\",\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char byte : field) {
    out += byte;
    if (byte == '"') {
      out += '"';
    }
  }
  out += '"';
}

}  // namespace spillway::app::catalog
