#pragma once

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>  // NOLINT(misc-include-cleaner): its parts do not stand alone

#include "app/config/reader.h"

namespace spillway::app {

/// A key of a mapping with its value, as the file has them.
struct Member {
  std::string name;
  int line = 0;
  YAML::Node value;
};

[[nodiscard]] inline bool is_plain(const YAML::Node& node) {
  return node.Tag() != "!";  // yaml-cpp's mark of a quoted scalar
}

[[nodiscard]] inline int line_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? 0 : mark.line + 1;
}

/// The mapping a ConfigReader reads, and what was asked of it so far.
struct ConfigReader::Body {
  std::vector<ConfigProblem>* problems = nullptr;
  std::vector<AskedKey>* asked_paths = nullptr;
  std::string path;     // with indices and names, for problems
  std::string pattern;  // with [] and *, for record_asked
  int line = 0;
  std::vector<Member> members;
  std::vector<std::string> asked;

  std::string path_to(std::string_view key) const {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }

  std::string pattern_to(std::string_view key) const {
    return pattern.empty() ? std::string(key) : fmt::format("{}.{}", pattern, key);
  }

  const Member* find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &Member::name);
    return found == members.end() ? nullptr : &*found;
  }

  const Member* ask(std::string_view key) {
    if (std::ranges::find(asked, key) == asked.end()) {
      asked.emplace_back(key);
    }
    return find(key);
  }

  const Member* ask_value(std::string_view key) {
    if (asked_paths != nullptr) {
      asked_paths->push_back({.path = pattern_to(key), .fallback = {}});
    }
    return ask(key);
  }

  // Of the value asked for last.
  template <typename Text>
  void note_fallback(Text text) {
    if (asked_paths != nullptr) {
      asked_paths->back().fallback = text();
    }
  }

  void complain(std::string_view key, int at, std::string what) const {
    problems->push_back({.key = path_to(key), .line = at, .what = std::move(what)});
  }

  // The text of a scalar, or null after a problem was noted or when the key is not there.
  const std::string* scalar(std::string_view key, std::string_view wanted, bool plain_only) {
    const Member* member = ask_value(key);
    if (member == nullptr) {
      return nullptr;
    }
    if (!member->value.IsScalar() || (plain_only && !is_plain(member->value))) {
      complain(key, member->line, fmt::format("must be {}", wanted));
      return nullptr;
    }
    return &member->value.Scalar();
  }

  void take_mapping(const YAML::Node& node) {
    line = line_of(node);
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        problems->push_back(
            {.key = path, .line = line_of(entry.first), .what = "keys must be plain names"});
        continue;
      }
      const auto& name = entry.first.Scalar();
      const int at = line_of(entry.first);
      if (const Member* first = find(name)) {
        complain(name, at, fmt::format("stands twice, first on line {}", first->line));
        continue;
      }
      members.push_back({.name = name, .line = at, .value = entry.second});
    }
  }

  std::unique_ptr<Body> child(std::string child_path, std::string child_pattern) const {
    auto body = std::make_unique<Body>();
    body->problems = problems;
    body->asked_paths = asked_paths;
    body->path = std::move(child_path);
    body->pattern = std::move(child_pattern);
    return body;
  }

  template <typename Number>
  void read_number(std::string_view key, Number& out, Number low, Number high,
                   std::string_view wanted) {
    const std::string* text = scalar(key, wanted, true);
    note_fallback([&] { return fmt::format("{}", out); });
    if (text == nullptr) {
      return;
    }
    Number value{};
    const char* end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(text->data(), end, value);
    const bool whole = error == std::errc() && rest == end;
    if (whole && value >= low && value <= high) {
      out = value;
      return;
    }
    const auto rule = whole || error == std::errc::result_out_of_range
                          ? fmt::format("must be between {} and {}, is {}", low, high, *text)
                          : fmt::format("must be {}, is \"{}\"", wanted, *text);
    complain(key, find(key)->line, rule);
  }
};

}  // namespace spillway::app
