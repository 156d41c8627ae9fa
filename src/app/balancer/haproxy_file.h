#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spillway::app::balancing {

/// One line of a haproxy.cfg: its words, quotes and escapes resolved, comments gone.
struct FileLine {
  int number = 0;  ///< From 1.
  std::vector<std::string> words;

  [[nodiscard]] bool is(std::string_view first) const { return words.front() == first; }

  [[nodiscard]] bool is(std::string_view first, std::string_view second) const {
    return words.size() > 1 && words[0] == first && words[1] == second;
  }
};

/// One section: "global", "defaults NAME", "listen NAME", ...
struct FileSection {
  std::string kind;
  std::string name;  ///< May be empty.
  std::string from;  ///< `from NAME`: a named defaults section.
  int number = 0;    ///< Line of its header.
  std::vector<FileLine> lines;
  const FileSection* defaults = nullptr;  ///< That it inherits from; in the same HaproxyFile.
};

/// Sections of a configuration file in order, with the defaults each inherits from: the named one,
/// else the last before it. Not copied: sections point at each other.
class HaproxyFile {
 public:
  /// Never fails: what is no section or keyword is a line like another. haproxy -c judges grammar.
  explicit HaproxyFile(std::string_view text);
  HaproxyFile(const HaproxyFile&) = delete;
  HaproxyFile& operator=(const HaproxyFile&) = delete;

  [[nodiscard]] const std::vector<FileSection>& sections() const { return sections_; }

  [[nodiscard]] const FileSection* find(std::string_view kind, std::string_view name) const;

 private:
  std::vector<FileSection> sections_;
};

/// The line that sets `first second` (or `first` alone when `second` is empty) in a section or what
/// it inherits from; null when none does. `no option X` undoes `option X`: null then.
[[nodiscard]] const FileLine* setting(const FileSection& section, std::string_view first,
                                      std::string_view second = {});

/// "1s", "500ms", "2m", "10" (milliseconds, as HAProxy has it); nothing for other text.
[[nodiscard]] std::optional<base::Duration> haproxy_time(std::string_view text);

/// Words of a server line after its name and address, with what `default-server` lines before it,
/// here and in defaults, gave.
struct ServerWords {
  const FileLine* line = nullptr;
  bool is_template = false;
  std::string name;                                       ///< Or prefix.
  std::string address;                                    ///< Or FQDN.
  std::map<std::string, std::string, std::less<>> words;  ///< Keyword to its argument, "" without.

  [[nodiscard]] bool has(std::string_view word) const { return words.contains(word); }

  /// "" when absent.
  [[nodiscard]] std::string_view value(std::string_view word) const;
};

/// The servers of a backend or listen section.
[[nodiscard]] std::vector<ServerWords> servers_of(const FileSection& section);

}  // namespace spillway::app::balancing
