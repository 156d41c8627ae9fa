#include "app/balancer/haproxy_file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace spillway::app::balancing {

namespace {

/// Words of one line, as HAProxy cuts them: blanks part them, quotes and backslashes keep blanks.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = '\0';
  const auto word = [&]() -> std::string& {
    if (!inside) {
      words.emplace_back();
      inside = true;
    }
    return words.back();
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word() += line[++i];
    } else if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word() += c;
      }
    } else if (c == '"' || c == '\'') {
      (void)word();
      quote = c;
    } else if (c == '#') {
      break;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      inside = false;
    } else {
      word() += c;
    }
  }
  return words;
}

bool begins_section(std::string_view word) {
  static constexpr std::array<std::string_view, 14> kKinds{
      "global",   "defaults", "frontend", "backend", "listen",      "resolvers", "peers",
      "userlist", "mailers",  "cache",    "program", "http-errors", "ring",      "log-forward"};
  return std::ranges::find(kKinds, word) != kKinds.end();
}

/// Keywords of a server line that take no argument.
bool stands_alone(std::string_view word) {
  static constexpr std::array<std::string_view, 27> kAlone{"agent-check",
                                                           "no-agent-check",
                                                           "allow-0rtt",
                                                           "backup",
                                                           "no-backup",
                                                           "check",
                                                           "no-check",
                                                           "check-send-proxy",
                                                           "check-ssl",
                                                           "no-check-ssl",
                                                           "check-via-socks4",
                                                           "disabled",
                                                           "enabled",
                                                           "force-sslv3",
                                                           "force-tlsv12",
                                                           "force-tlsv13",
                                                           "no-sslv3",
                                                           "no-tlsv10",
                                                           "no-tlsv11",
                                                           "non-stick",
                                                           "send-proxy",
                                                           "send-proxy-v2",
                                                           "send-proxy-v2-ssl",
                                                           "ssl",
                                                           "stick",
                                                           "tfo",
                                                           "no-ssl-reuse"};
  return std::ranges::find(kAlone, word) != kAlone.end();
}

/// Adds the keywords of `words` from `at` on; a later one replaces an earlier.
void add_words(std::map<std::string, std::string, std::less<>>& out,
               const std::vector<std::string>& words, size_t at) {
  while (at < words.size()) {
    const std::string& word = words[at++];
    if (word == "no-agent-check" || word == "no-check") {
      out.erase(word.substr(3));
    } else if (stands_alone(word) || at >= words.size()) {
      out[word] = "";
    } else {
      out[word] = words[at++];
    }
  }
}

void add_defaults(std::map<std::string, std::string, std::less<>>& out,
                  const FileSection* section) {
  if (section == nullptr) {
    return;
  }
  add_defaults(out, section->defaults);
  for (const FileLine& line : section->lines) {
    if (line.is("default-server")) {
      add_words(out, line.words, 1);
    }
  }
}

}  // namespace

HaproxyFile::HaproxyFile(std::string_view text) {
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (words.empty()) {
      continue;
    }
    if (begins_section(words[0])) {
      FileSection section{.kind = words[0], .name = {}, .from = {}, .number = number, .lines = {}};
      size_t at = 1;
      if (at < words.size() && words[at] != "from") {
        section.name = words[at++];
      }
      if (at + 1 < words.size() && words[at] == "from") {
        section.from = words[at + 1];
      }
      sections_.push_back(std::move(section));
    } else if (!sections_.empty()) {
      sections_.back().lines.push_back({.number = number, .words = std::move(words)});
    }
  }
  const FileSection* last = nullptr;
  for (FileSection& section : sections_) {
    const bool inherits = section.kind == "frontend" || section.kind == "backend" ||
                          section.kind == "listen" || section.kind == "defaults";
    if (inherits && !section.from.empty()) {
      section.defaults = find("defaults", section.from);
    } else if (inherits && section.kind != "defaults") {
      section.defaults = last;
    }
    if (section.kind == "defaults") {
      last = &section;
    }
  }
}

const FileSection* HaproxyFile::find(std::string_view kind, std::string_view name) const {
  const auto found = std::ranges::find_if(sections_, [&](const FileSection& section) {
    return section.kind == kind && section.name == name;
  });
  return found == sections_.end() ? nullptr : &*found;
}

const FileLine* setting(const FileSection& section, std::string_view first,
                        std::string_view second) {
  const FileLine* found = nullptr;
  bool undone = false;
  for (const FileLine& line : section.lines) {
    if (second.empty() ? line.is(first) : line.is(first, second)) {
      found = &line;
      undone = false;
    } else if (line.is("no", first) && line.words.size() > 2 && line.words[2] == second) {
      found = nullptr;
      undone = true;
    }
  }
  if (found != nullptr || undone || section.defaults == nullptr) {
    return found;
  }
  return setting(*section.defaults, first, second);
}

std::optional<base::Duration> haproxy_time(std::string_view text) {
  uint64_t value = 0;
  size_t digits = 0;
  constexpr uint64_t kMost = uint64_t{1} << 31;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && value < kMost) {
    value = value * 10 + static_cast<uint64_t>(text[digits] - '0');
    ++digits;
  }
  if (digits == 0) {
    return std::nullopt;
  }
  const auto count = static_cast<int64_t>(value);
  const std::string_view unit = text.substr(digits);
  if (unit == "us") {
    return std::chrono::microseconds(count);
  }
  if (unit.empty() || unit == "ms") {
    return std::chrono::milliseconds(count);
  }
  if (unit == "s") {
    return std::chrono::seconds(count);
  }
  if (unit == "m") {
    return std::chrono::minutes(count);
  }
  if (unit == "h") {
    return std::chrono::hours(count);
  }
  return unit == "d" ? std::optional<base::Duration>(std::chrono::hours(24 * count)) : std::nullopt;
}

std::string_view ServerWords::value(std::string_view word) const {
  const auto found = words.find(word);
  return found == words.end() ? std::string_view{} : std::string_view(found->second);
}

std::vector<ServerWords> servers_of(const FileSection& section) {
  std::vector<ServerWords> servers;
  std::map<std::string, std::string, std::less<>> defaults;
  add_defaults(defaults, section.defaults);
  for (const FileLine& line : section.lines) {
    const bool is_template = line.is("server-template");
    const size_t fixed = is_template ? 4 : 3;
    if (line.is("default-server")) {
      add_words(defaults, line.words, 1);
    } else if ((line.is("server") || is_template) && line.words.size() >= fixed) {
      ServerWords server{.line = &line,
                         .is_template = is_template,
                         .name = line.words[1],
                         .address = line.words[fixed - 1],
                         .words = defaults};
      add_words(server.words, line.words, fixed);
      servers.push_back(std::move(server));
    }
  }
  return servers;
}

}  // namespace spillway::app::balancing
