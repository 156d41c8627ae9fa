#include "exchange/clearing/markup.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include <emmintrin.h>

#include "exchange/clearing/json_strings.h"

namespace spillway::exchange::clearing {

namespace {

constexpr size_t kNone = std::string_view::npos;

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_host_char(char c) {
  return (folded(c) >= 'a' && folded(c) <= 'z') || (c >= '0' && c <= '9') || c == '[' || c == '$' ||
         c == '{' || c == '%' || static_cast<unsigned char>(c) >= 0x80;
}

/// `lower` is in lower case; `text` in any.
bool begins_with(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::ranges::equal(text.substr(0, lower.size()), lower,
                            [](char a, char b) { return folded(a) == b; });
}

bool equals(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && begins_with(text, lower);
}

size_t find_folded(std::string_view text, std::string_view lower) {
  const auto found = std::search(text.begin(), text.end(), lower.begin(), lower.end(),
                                 [](char a, char b) { return folded(a) == b; });
  return found == text.end() ? kNone : static_cast<size_t>(found - text.begin());
}

/// Where the next "http:" is.
size_t find_http(std::string_view text, size_t from = 0) {
  for (size_t colon = text.find(':', from); colon != kNone; colon = text.find(':', colon + 1)) {
    if (colon >= from + 4 && begins_with(text.substr(colon - 4), "http:")) {
      return colon - 4;
    }
  }
  return kNone;
}

std::string_view trimmed_front(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  return text;
}

/// Whether text begins with an http URL that has a host, slashes escaped ("http:\/\/") or not.
bool begins_with_http(std::string_view text) {
  if (!begins_with(text, "http:")) {
    return false;
  }
  text.remove_prefix(5);
  for (int slash = 0; slash < 2; ++slash) {
    if (text.starts_with('\\')) {
      text.remove_prefix(1);
    }
    if (!text.starts_with('/')) {
      return false;
    }
    text.remove_prefix(1);
  }
  constexpr std::string_view kNames = "www.w3.org";
  if (begins_with(text, kNames)) {
    const std::string_view rest = text.substr(kNames.size());
    return !(rest.empty() || rest.front() == '/' || rest.front() == '\\' || rest.front() == '"' ||
             rest.front() == '\'');
  }
  return !text.empty() && is_host_char(text.front());
}

/// Script, JSON and style: a literal in quotes, or url(...), that begins with an http URL.
bool literal_insecure(std::string_view code) {
  for (size_t at = find_http(code); at != kNone; at = find_http(code, at + 5)) {
    size_t before = at;
    while (before > 0 && is_space(code[before - 1])) {
      --before;
    }
    const char opener = before == 0 ? '\0' : code[before - 1];
    const bool literal = opener == '"' || opener == '\'' || opener == '`' || opener == '(';
    if (literal && begins_with_http(code.substr(at))) {
      return true;
    }
  }
  return false;
}

/// One candidate of a srcset after another: "a.png 1x, http://b 2x".
bool list_insecure(std::string_view value) {
  while (!value.empty()) {
    value = trimmed_front(value);
    if (begins_with_http(value)) {
      return true;
    }
    const size_t comma = value.find(',');
    value = comma == kNone ? std::string_view() : value.substr(comma + 1);
  }
  return false;
}

bool attribute_insecure(std::string_view tag, std::string_view name, std::string_view value) {
  if (begins_with(name, "xmlns") || begins_with(name, "xsi:")) {
    return false;
  }
  if (equals(name, "href") && (equals(tag, "a") || equals(tag, "area"))) {
    return false;
  }
  if (begins_with_http(trimmed_front(value))) {
    return true;
  }
  if (equals(name, "srcset") || equals(name, "imagesrcset")) {
    return list_insecure(value);
  }
  const bool is_code = equals(name, "style") || equals(name, "srcdoc") || begins_with(name, "on");
  return is_code && literal_insecure(value);
}

/// Reads tags, attributes, comments, CDATA and the text between, in one pass.
class Scanner {
 public:
  Scanner(std::string_view markup, bool is_xml) : rest_(markup), is_xml_(is_xml) {}

  bool insecure() {
    while (!rest_.empty()) {
      const size_t open = std::min(rest_.find('<'), rest_.size());
      if (text_insecure(rest_.substr(0, open))) {
        return true;
      }
      rest_.remove_prefix(open);
      if (!rest_.empty() && bracket_insecure()) {
        return true;
      }
    }
    return false;
  }

 private:
  /// Consumes what begins with '<'.
  bool bracket_insecure() {
    constexpr std::string_view kCdata = "<![cdata[";
    if (rest_.starts_with("<!--")) {
      skip_past("-->", 2);  // "<!-->" is a whole comment.
    } else if (begins_with(rest_, kCdata)) {
      const size_t end = std::min(rest_.find("]]>"), rest_.size());
      const std::string_view data = rest_.substr(kCdata.size(), end - std::min(end, kCdata.size()));
      rest_.remove_prefix(std::min(end + 3, rest_.size()));
      return text_insecure(data) || html_insecure(data);
    } else if (rest_.starts_with("<!") || rest_.starts_with("<?") || rest_.starts_with("</")) {
      skip_past(">", 2);
      tag_ = {};
    } else {
      return tag_insecure();
    }
    return false;
  }

  /// A whole HTML creative may stand in a CDATA section (VAST's HTMLResource). In HTML itself there
  /// are none, so this goes one level deep only.
  [[nodiscard]] bool html_insecure(std::string_view data) const {
    return is_xml_ && trimmed_front(data).starts_with('<') && Scanner(data, false).insecure();
  }

  /// Only XML has URLs as the text of elements.
  bool text_insecure(std::string_view text) const {
    if (!is_xml_ || equals(tag_, "clickthrough")) {
      return false;
    }
    return begins_with_http(trimmed_front(text));
  }

  /// Consumes a tag and, for script and style, what is up to its end tag.
  bool tag_insecure() {
    rest_.remove_prefix(1);
    tag_ = take_until([](char c) { return is_space(c) || c == '>' || c == '/'; });
    while (!rest_.empty() && rest_.front() != '>') {
      if (is_space(rest_.front()) || rest_.front() == '/') {
        rest_.remove_prefix(1);
        continue;
      }
      const std::string_view name =
          take_until([](char c) { return is_space(c) || c == '>' || c == '=' || c == '/'; });
      if (attribute_insecure(tag_, name, take_value(name.empty()))) {
        return true;
      }
    }
    rest_.remove_prefix(std::min<size_t>(1, rest_.size()));
    if (!is_xml_ && (equals(tag_, "script") || equals(tag_, "style"))) {
      const size_t end = std::min(
          find_folded(rest_, equals(tag_, "script") ? "</script" : "</style"), rest_.size());
      const std::string_view code = rest_.substr(0, end);
      rest_.remove_prefix(end);
      return literal_insecure(code);
    }
    return false;
  }

  /// The value behind '=', if there is one. Always moves on when `force` is set.
  std::string_view take_value(bool force) {
    rest_ = trimmed_front(rest_);
    if (!rest_.starts_with('=')) {
      rest_.remove_prefix(force && !rest_.empty() && rest_.front() != '>' ? 1 : 0);
      return {};
    }
    rest_ = trimmed_front(rest_.substr(1));
    if (rest_.empty()) {
      return {};
    }
    const char quote = rest_.front();
    if (quote != '"' && quote != '\'') {
      return take_until([](char c) { return is_space(c) || c == '>'; });
    }
    rest_.remove_prefix(1);
    const std::string_view value = take_until([quote](char c) { return c == quote; });
    rest_.remove_prefix(std::min<size_t>(1, rest_.size()));
    return value;
  }

  template <typename Stop>
  std::string_view take_until(Stop stop) {
    const auto end = std::ranges::find_if(rest_, stop);
    const std::string_view taken = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  void skip_past(std::string_view end, size_t from) {
    const size_t found = rest_.find(end, from);
    rest_.remove_prefix(found == kNone ? rest_.size() : found + end.size());
  }

  std::string_view rest_;
  std::string_view tag_;
  bool is_xml_;
};

}  // namespace

MarkupKind sniff(std::string_view markup) {
  if (markup.starts_with("\xef\xbb\xbf")) {
    markup.remove_prefix(3);
  }
  markup = trimmed_front(markup).substr(0, 512);
  if (markup.empty()) {
    return MarkupKind::kUnknown;
  }
  if (markup.front() == '{') {
    const bool native = markup.find("\"native\"") != kNone || markup.find("\"assets\"") != kNone;
    return native ? MarkupKind::kNative : MarkupKind::kUnknown;
  }
  if (markup.front() != '<') {
    return MarkupKind::kUnknown;
  }
  const bool prologue = begins_with(markup, "<?xml") || begins_with(markup, "<!--");
  constexpr std::array<std::string_view, 2> kRoots = {"<vast", "<daast"};
  for (const std::string_view root : kRoots) {
    if (begins_with(markup, root) || (prologue && find_folded(markup, root) != kNone)) {
      return MarkupKind::kVast;
    }
  }
  return MarkupKind::kHtml;
}

bool may_mention_http(std::string_view raw) {
  constexpr size_t kStep = sizeof(__m128i);
  constexpr size_t kColonAt = 4;
  constexpr size_t kReach = kColonAt + kStep;
  const auto found_at = [raw](size_t at) {
    const std::string_view rest = raw.substr(at);
    return rest.starts_with("\\u") || begins_with(rest, "http:");
  };
  if (raw.size() < kReach) {
    size_t at = 0;
    while (at < raw.size() && !found_at(at)) {
      ++at;
    }
    return at < raw.size();
  }
  const __m128i letter = _mm_set1_epi8('h');
  const __m128i colon = _mm_set1_epi8(':');
  const __m128i slash = _mm_set1_epi8('\\');
  const __m128i escape = _mm_set1_epi8('u');
  const __m128i lower = _mm_set1_epi8(0x20);
  const auto step = [&](size_t at) {
    const auto load = [from = raw.data() + at](size_t offset) {
      __m128i bytes;
      std::memcpy(&bytes, from + offset, sizeof(bytes));
      return bytes;
    };
    const __m128i bytes = load(0);
    const __m128i http = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(bytes, lower), letter),
                                       _mm_cmpeq_epi8(load(kColonAt), colon));
    const __m128i hidden =
        _mm_and_si128(_mm_cmpeq_epi8(bytes, slash), _mm_cmpeq_epi8(load(1), escape));
    auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(http, hidden)));
    while (mask != 0 && !found_at(at + static_cast<size_t>(std::countr_zero(mask)))) {
      mask &= mask - 1;
    }
    return mask != 0;
  };
  const size_t last = raw.size() - kReach;
  for (size_t at = 0; at < last; at += kStep) {
    if (step(at)) {
      return true;
    }
  }
  // What is left, some of it seen already; in its last bytes only an escape can begin.
  return step(last) || raw.substr(raw.size() - kColonAt).contains("\\u");
}

namespace {

/// Members of native markup that nothing is loaded from: where people are led, and text shown.
bool is_not_loaded(const JsonString& text) {
  if (text.object == "link") {
    return text.key == "url" || text.key == "fallback";
  }
  return text.key == "privacy" || (text.object == "title" && text.key == "text") ||
         (text.object == "data" && text.key == "value");
}

bool json_insecure(std::string_view json) {
  JsonStrings strings(json);
  JsonString text;
  std::string decoded;
  JsonWalk walk = JsonWalk::kFound;
  while ((walk = strings.next(text)) == JsonWalk::kFound) {
    if (is_not_loaded(text) || !may_mention_http(text.raw)) {
      continue;
    }
    unescape_json(text.raw, decoded);
    const std::string_view value = trimmed_front(decoded);
    // Markup within: a tracker's script, a video's VAST.
    if (begins_with_http(value) || (value.contains('<') && loads_insecurely(value))) {
      return true;
    }
  }
  return walk == JsonWalk::kBroken && literal_insecure(json);
}

}  // namespace

bool loads_insecurely(std::string_view markup) {
  const std::string_view text = trimmed_front(markup);
  if (text.starts_with('{') || text.starts_with('[')) {
    return may_mention_http(text) && json_insecure(text);  // escapes may hide it
  }
  if (find_http(markup) == kNone) {
    return false;
  }
  const bool is_xml = sniff(text) == MarkupKind::kVast || begins_with(text, "<?xml");
  if (text.find('<') == kNone) {
    return literal_insecure(text) || begins_with_http(text);
  }
  return Scanner(text, is_xml).insecure();
}

}  // namespace spillway::exchange::clearing
