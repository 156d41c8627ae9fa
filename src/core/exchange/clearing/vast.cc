#include "exchange/clearing/vast.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "exchange/clearing/markup.h"

namespace spillway::exchange::clearing {

namespace {

constexpr size_t kNone = std::string_view::npos;

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equals(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) { return folded(a) == b; });
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// One start tag without its brackets: `MediaFile type="video/mp4"`.
struct Tag {
  std::string_view name;
  std::string_view rest;

  explicit Tag(std::string_view text) {
    const auto end = std::ranges::find_if(text, [](char c) { return is_space(c) || c == '/'; });
    name = text.substr(0, static_cast<size_t>(end - text.begin()));
    rest = text.substr(name.size());
  }

  /// The value of an attribute; "" without it.
  [[nodiscard]] std::string_view attribute(std::string_view wanted) const {
    std::string_view left = rest;
    for (size_t equal = left.find('='); equal != kNone; equal = left.find('=')) {
      std::string_view key = trimmed(left.substr(0, equal));
      key = key.substr(std::min(key.size(), key.find_last_of(" \t\r\n") + 1));
      left = trimmed(left.substr(equal + 1));
      if (left.empty() || (left.front() != '"' && left.front() != '\'')) {
        return {};
      }
      const size_t end = left.find(left.front(), 1);
      if (end == kNone) {
        return {};
      }
      if (equals(key, wanted)) {
        return trimmed(left.substr(1, end - 1));
      }
      left.remove_prefix(end + 1);
    }
    return {};
  }
};

/// Source: AdCOM 1.0, "List: Creative Subtypes - Audio/Video": each version's own, and as wrapper.
int protocol_of(bool is_daast, std::string_view version, bool is_wrapper) {
  struct Row {
    std::string_view version;
    int plain;
    int wrapper;
  };

  constexpr auto kVast = std::to_array<Row>({{.version = "1", .plain = 1, .wrapper = 4},
                                             {.version = "2", .plain = 2, .wrapper = 5},
                                             {.version = "3", .plain = 3, .wrapper = 6},
                                             {.version = "4.1", .plain = 11, .wrapper = 12},
                                             {.version = "4.2", .plain = 13, .wrapper = 14},
                                             {.version = "4.3", .plain = 15, .wrapper = 16},
                                             {.version = "4", .plain = 7, .wrapper = 8}});
  if (is_daast) {
    return is_wrapper ? 10 : 9;
  }
  for (const Row& row : kVast) {
    const bool same = version.starts_with(row.version) &&
                      (version.size() == row.version.size() || version[row.version.size()] == '.');
    if (same) {
      return is_wrapper ? row.wrapper : row.plain;
    }
  }
  return 0;
}

/// Start tags of a document, one after another, with the text that follows each.
class Tags {
 public:
  explicit Tags(std::string_view markup) : left_(markup) {}

  /// The next tag without its brackets; false at the end.
  bool next(std::string_view& tag) {
    for (size_t at = left_.find('<'); at != kNone; at = left_.find('<')) {
      left_.remove_prefix(at);
      if (left_.starts_with("<!--")) {
        skip_past("-->");
      } else if (left_.starts_with("<![CDATA[")) {
        skip_past("]]>");
      } else if (left_.starts_with("</") || left_.starts_with("<?") || left_.starts_with("<!")) {
        skip_past(">");
      } else {
        const size_t end = std::min(left_.find('>'), left_.size());
        tag = left_.substr(1, end - 1);
        left_.remove_prefix(std::min(end + 1, left_.size()));
        return true;
      }
    }
    return false;
  }

  /// Text up to the next bracket.
  [[nodiscard]] std::string_view text() const { return left_.substr(0, left_.find('<')); }

 private:
  void skip_past(std::string_view end) {
    const size_t found = left_.find(end);
    left_.remove_prefix(found == kNone ? left_.size() : found + end.size());
  }

  std::string_view left_;
};

}  // namespace

int64_t clock_ms(std::string_view text) {
  constexpr std::string_view kForm = "dd:dd:dd";
  constexpr std::string_view kFraction = ".ddd";
  text = trimmed(text);
  if (text.size() != kForm.size() && text.size() != kForm.size() + kFraction.size()) {
    return 0;
  }
  constexpr std::array<int64_t, 12> kWeights = {36'000'000, 3'600'000, 0, 600'000, 60'000, 0,
                                                10'000,     1'000,     0, 100,     10,     1};
  int64_t sum = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char form = i < kForm.size() ? kForm[i] : kFraction[i - kForm.size()];
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (form == 'd' ? !is_digit : text[i] != form) {
      return 0;
    }
    sum += kWeights[i] * (is_digit ? text[i] - '0' : 0);
  }
  return sum;
}

VastFacts read_vast(std::string_view markup,
                    const std::function<bool(std::string_view)>& is_taken) {
  VastFacts facts;
  if (sniff(markup) != MarkupKind::kVast) {
    return facts;
  }
  facts.is_vast = true;
  bool is_daast = false;
  bool is_wrapper = false;
  std::string_view version;
  std::string_view text;
  for (Tags tags(markup); tags.next(text);) {
    const Tag tag(text);
    if (equals(tag.name, "vast") || equals(tag.name, "daast")) {
      is_daast = equals(tag.name, "daast");
      version = tag.attribute("version");
    } else if (equals(tag.name, "wrapper")) {
      is_wrapper = true;
    } else if (equals(tag.name, "duration") && facts.duration_ms == 0) {
      facts.duration_ms = clock_ms(tags.text());
    } else if (equals(tag.name, "mediafile") && !facts.has_taken) {
      const std::string_view type = tag.attribute("type");
      facts.has_media = facts.has_media || !type.empty();
      facts.has_taken = !type.empty() && is_taken(type);
    }
  }
  facts.protocol = protocol_of(is_daast, version, is_wrapper);
  return facts;
}

}  // namespace spillway::exchange::clearing
