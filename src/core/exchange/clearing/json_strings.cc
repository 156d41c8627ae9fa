#include "exchange/clearing/json_strings.h"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace spillway::exchange::clearing {

bool JsonStrings::open(bool is_object) {
  if (depth_ == levels_.size()) {
    return false;
  }
  levels_.at(depth_++) = {.key = key_, .is_object = is_object};
  wants_key_ = is_object;
  return true;
}

bool JsonStrings::close(bool is_object) {
  if (depth_ == 0 || levels_.at(depth_ - 1).is_object != is_object) {
    return false;
  }
  key_ = levels_.at(--depth_).key;
  wants_key_ = false;
  return true;
}

/// Takes a string and its closing quote off the front; the opening one is gone.
bool JsonStrings::take_string(std::string_view& raw) {
  for (size_t at = 0; at < rest_.size(); ++at) {
    if (rest_[at] == '\\') {
      ++at;
    } else if (rest_[at] == '"') {
      raw = rest_.substr(0, at);
      rest_.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

std::string_view JsonStrings::object_key() const {
  for (size_t level = depth_; level > 0; --level) {
    if (levels_.at(level - 1).is_object) {
      return levels_.at(level - 1).key;
    }
  }
  return {};
}

JsonWalk JsonStrings::next(JsonString& out) {
  while (!rest_.empty()) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '{' || c == '[') {
      if (!open(c == '{')) {
        return JsonWalk::kBroken;
      }
    } else if (c == '}' || c == ']') {
      if (!close(c == '}')) {
        return JsonWalk::kBroken;
      }
    } else if (c == ',' && depth_ > 0) {
      wants_key_ = levels_.at(depth_ - 1).is_object;
      key_ = levels_.at(depth_ - 1).key;
    } else if (c == '"') {
      std::string_view raw;
      if (!take_string(raw)) {
        return JsonWalk::kBroken;
      }
      if (wants_key_) {
        key_ = raw;
        wants_key_ = false;
      } else {
        out = {.object = object_key(), .key = key_, .raw = raw};
        return JsonWalk::kFound;
      }
    }
  }
  return depth_ == 0 ? JsonWalk::kNone : JsonWalk::kBroken;
}

void unescape_json(std::string_view raw, std::string& out) {
  constexpr size_t kDigits = 4;
  out.clear();
  for (size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] != '\\' || at + 1 == raw.size()) {
      out += raw[at];
      continue;
    }
    const char kind = raw[++at];
    if (kind == 'u') {
      unsigned code = 0;
      const std::string_view digits = raw.substr(at + 1, kDigits);
      std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      out += code < 0x80 ? static_cast<char>(code) : '?';
      at += digits.size();
    } else {
      const bool is_blank = kind == 'n' || kind == 'r' || kind == 't' || kind == 'b' || kind == 'f';
      out += is_blank ? ' ' : kind;
    }
  }
}

}  // namespace spillway::exchange::clearing
