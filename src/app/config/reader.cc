#include "app/config/reader.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>  // NOLINT(misc-include-cleaner): its parts do not stand alone

#include "app/config/units.h"
#include "app/config/utf8.h"
#include "base/decimal.h"
#include "base/money.h"
#include "base/time.h"

namespace spillway::app {
namespace {

struct Member {
  std::string name;
  int line = 0;
  YAML::Node value;
};

// Edits (insert, delete, replace) between two short names.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

bool is_plain(const YAML::Node& node) {
  return node.Tag() != "!";  // yaml-cpp's mark of a quoted scalar
}

std::string micros_text(int64_t micros) {
  std::string out;
  base::append_micros(out, micros);
  return out;
}

int line_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? 0 : mark.line + 1;
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const auto& candidate : known) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string to_string(const ConfigProblem& problem, std::string_view file) {
  const std::string place =
      problem.line > 0 ? fmt::format("{}:{}", file, problem.line) : std::string(file);
  if (problem.key.empty()) {
    return fmt::format("{}: {}", place, problem.what);
  }
  return fmt::format("{}: {}: {}", place, problem.key, problem.what);
}

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

ConfigReader::ConfigReader(std::unique_ptr<Body> body) : body_(std::move(body)) {}

ConfigReader::~ConfigReader() = default;
ConfigReader::ConfigReader(ConfigReader&&) noexcept = default;

ConfigReader::ConfigReader(std::string_view text, std::vector<ConfigProblem>& problems)
    : body_(std::make_unique<Body>()) {
  body_->problems = &problems;
  if (const size_t at = first_invalid_utf8(text); at != std::string_view::npos) {
    // What stands here reaches callers and DSPs, who refuse such bytes.
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    problems.push_back(
        {.key = "", .line = static_cast<int>(line), .what = "is no UTF-8 text: save it as UTF-8"});
    return;
  }
  try {
    const auto documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      problems.push_back(
          {.key = "", .line = line_of(documents[1]), .what = "must be one YAML document"});
    }
    if (documents.empty() || documents[0].IsNull()) {
      return;
    }
    if (!documents[0].IsMap()) {
      problems.push_back({.key = "", .line = 1, .what = "must be a mapping of sections"});
      return;
    }
    body_->take_mapping(documents[0]);
  } catch (const YAML::Exception& error) {
    problems.push_back({.key = "",
                        .line = error.mark.is_null() ? 0 : error.mark.line + 1,
                        .what = "is no YAML: " + error.msg});
  }
}

void ConfigReader::record_asked(std::vector<AskedKey>& asked) { body_->asked_paths = &asked; }

void ConfigReader::read(std::string_view key, std::string& out) {
  const std::string* text = body_->scalar(key, "text", false);
  body_->note_fallback([&] { return out; });
  if (text != nullptr) {
    out = *text;
  }
}

void ConfigReader::read(std::string_view key, bool& out) {
  const std::string* text = body_->scalar(key, "true or false", true);
  body_->note_fallback([&] { return std::string(out ? "true" : "false"); });
  if (text == nullptr) {
    return;
  }
  if (*text == "true" || *text == "false") {
    out = *text == "true";
  } else {
    problem(key, fmt::format("must be true or false, is \"{}\"", *text));
  }
}

void ConfigReader::read(std::string_view key, int64_t& out, int64_t low, int64_t high) {
  body_->read_number(key, out, low, high, "a whole number");
}

void ConfigReader::read(std::string_view key, uint32_t& out, uint32_t low, uint32_t high) {
  int64_t value = out;
  body_->read_number<int64_t>(key, value, low, high, "a whole number");
  out = static_cast<uint32_t>(value);
}

void ConfigReader::read(std::string_view key, double& out, double low, double high) {
  body_->read_number(key, out, low, high, "a number");
}

void ConfigReader::read(std::string_view key, base::Duration& out, base::Duration low,
                        base::Duration high) {
  const std::string* text = body_->scalar(key, "a duration such as 150ms, 5s or 2m", true);
  body_->note_fallback([&] { return duration_text(out); });
  if (text == nullptr) {
    return;
  }
  const auto value = parse_duration(*text);
  if (!value) {
    problem(key, fmt::format("must be a duration with its unit, such as 150ms, 5s or 2m; is \"{}\"",
                             *text));
  } else if (*value < low || *value > high) {
    problem(key, fmt::format("must be between {} and {}, is {}", duration_text(low),
                             duration_text(high), *text));
  } else {
    out = *value;
  }
}

void ConfigReader::read_bytes(std::string_view key, uint64_t& out, uint64_t low, uint64_t high) {
  const std::string* text = body_->scalar(key, "a size such as 256KiB or 1MiB", true);
  body_->note_fallback([&] { return bytes_text(out); });
  if (text == nullptr) {
    return;
  }
  const auto value = parse_bytes(*text);
  if (!value) {
    problem(key,
            fmt::format("must be a size with its unit, such as 512B, 256KiB or 1MiB; is \"{}\"",
                        *text));
  } else if (*value < low || *value > high) {
    problem(key, fmt::format("must be between {} and {}, is {}", bytes_text(low), bytes_text(high),
                             *text));
  } else {
    out = *value;
  }
}

void ConfigReader::read_choice(std::string_view key, const std::vector<std::string_view>& names,
                               size_t& out) {
  const auto wanted = fmt::format("one of {}", fmt::join(names, ", "));
  const std::string* text = body_->scalar(key, wanted, false);
  body_->note_fallback([&] { return std::string(names[out]); });
  if (text == nullptr) {
    return;
  }
  const auto found = std::ranges::find(names, std::string_view(*text));
  if (found == names.end()) {
    problem(key, fmt::format("must be {}, is \"{}\"", wanted, *text));
  } else {
    out = static_cast<size_t>(found - names.begin());
  }
}

void ConfigReader::read(std::string_view key, std::vector<std::string>& out) {
  const Member* member = body_->ask_value(key);
  if (member == nullptr) {
    return;
  }
  if (!member->value.IsSequence()) {
    problem(key, "must be a list of texts, such as [a, b]");
    return;
  }
  std::vector<std::string> values;
  for (const auto& item : member->value) {
    if (!item.IsScalar()) {
      problem(key, "must be a list of texts, such as [a, b]");
      return;
    }
    values.push_back(item.Scalar());
  }
  out = std::move(values);
}

bool ConfigReader::has(std::string_view key) const { return body_->find(key) != nullptr; }

ConfigReader ConfigReader::section(std::string_view key) {
  auto child = body_->child(body_->path_to(key), body_->pattern_to(key));
  const Member* member = body_->ask(key);
  if (member != nullptr) {
    child->line = member->line;
    if (member->value.IsMap()) {
      child->take_mapping(member->value);
      child->line = member->line;
    } else if (!member->value.IsNull()) {
      problem(key, "must be a mapping of keys");
    }
  }
  return ConfigReader(std::move(child));
}

std::vector<ConfigReader> ConfigReader::list(std::string_view key) {
  std::vector<ConfigReader> readers;
  const Member* member = body_->ask(key);
  if (member == nullptr || member->value.IsNull()) {
    return readers;
  }
  if (!member->value.IsSequence()) {
    problem(key, "must be a list (entries begin with \"- \")");
    return readers;
  }
  size_t index = 0;
  for (const auto& item : member->value) {
    auto child = body_->child(fmt::format("{}[{}]", body_->path_to(key), index++),
                              body_->pattern_to(key) + "[]");
    child->line = line_of(item);
    if (item.IsMap()) {
      child->take_mapping(item);
      readers.push_back(ConfigReader(std::move(child)));
    } else {
      body_->problems->push_back(
          {.key = child->path, .line = child->line, .what = "must be a mapping of keys"});
    }
  }
  return readers;
}

std::vector<std::pair<std::string, ConfigReader>> ConfigReader::entries(std::string_view key) {
  std::vector<std::pair<std::string, ConfigReader>> readers;
  ConfigReader mapping = section(key);
  for (const Member& member : mapping.body_->members) {
    auto child = body_->child(mapping.body_->path_to(member.name), mapping.body_->pattern_to("*"));
    child->line = member.line;
    if (member.value.IsMap()) {
      child->take_mapping(member.value);
      child->line = member.line;
    } else if (!member.value.IsNull()) {
      mapping.problem(member.name, "must be a mapping of keys");
      continue;
    }
    readers.emplace_back(member.name, ConfigReader(std::move(child)));
  }
  return readers;
}

void ConfigReader::read_cpm(std::string_view key, base::Cpm& out) {
  const std::string* text = body_->scalar(key, "a price per thousand such as 1.25", true);
  body_->note_fallback([&] { return micros_text(out.micros); });
  if (text == nullptr) {
    return;
  }
  const auto price = parse_cpm(*text);
  if (price) {
    out = *price;
  } else {
    problem(key, fmt::format("must be a price per thousand, not negative, such as 1.25; is \"{}\"",
                             *text));
  }
}

void ConfigReader::read_ppm(std::string_view key, uint32_t& out, uint32_t high_ppm) {
  const std::string* text = body_->scalar(key, "a share such as 0.15", true);
  body_->note_fallback([&] { return micros_text(out); });
  if (text == nullptr) {
    return;
  }
  // Both roundings agree only on what six decimals can say.
  const auto down = base::parse_micros(*text, base::Rounding::kDown);
  const auto up = base::parse_micros(*text, base::Rounding::kUp);
  if (down && up && *down == *up && *down >= 0 && *down <= high_ppm) {
    out = static_cast<uint32_t>(*down);
    return;
  }
  problem(key, fmt::format("must be from 0 to {} with at most six decimals, is \"{}\"",
                           micros_text(high_ppm), *text));
}

void ConfigReader::problem(std::string_view key, std::string what) {
  if (key.empty()) {
    body_->problems->push_back({.key = body_->path, .line = body_->line, .what = std::move(what)});
    return;
  }
  const Member* member = body_->find(key);
  body_->complain(key, member != nullptr ? member->line : body_->line, std::move(what));
}

void ConfigReader::finish() {
  for (const Member& member : body_->members) {
    if (std::ranges::find(body_->asked, member.name) != body_->asked.end()) {
      continue;
    }
    const std::string near = nearest_name(member.name, body_->asked);
    body_->complain(member.name, member.line,
                    near.empty() ? std::string("is an unknown key")
                                 : fmt::format("is an unknown key; \"{}\" is near", near));
  }
}

}  // namespace spillway::app
