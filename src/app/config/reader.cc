#include "app/config/reader.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>  // NOLINT(misc-include-cleaner): its parts do not stand alone

#include "app/config/nearest_name.h"
#include "app/config/reader_body.h"
#include "app/config/utf8.h"

namespace spillway::app {

std::string to_string(const ConfigProblem& problem, std::string_view file) {
  if (problem.key.empty() && problem.line == 0 && problem.what.starts_with(file)) {
    return problem.what;  // A file that cannot be read names itself.
  }
  const std::string place =
      problem.line > 0 ? fmt::format("{}:{}", file, problem.line) : std::string(file);
  if (problem.key.empty()) {
    return fmt::format("{}: {}", place, problem.what);
  }
  return fmt::format("{}: {}: {}", place, problem.key, problem.what);
}

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
  } catch (const YAML::DeepRecursion& error) {
    // Its own words are "bad file".
    problems.push_back({.key = "", .line = error.mark.line + 1, .what = "is nested too deeply"});
  } catch (const YAML::Exception& error) {
    problems.push_back({.key = "",
                        .line = error.mark.is_null() ? 0 : error.mark.line + 1,
                        .what = "is no YAML: " + error.msg});
  }
}

void ConfigReader::record_asked(std::vector<AskedKey>& asked) { body_->asked_paths = &asked; }

bool ConfigReader::has(std::string_view key) const { return body_->find(key) != nullptr; }

int ConfigReader::line(std::string_view key) const {
  const Member* member = body_->find(key);
  return member == nullptr ? 0 : member->line;
}

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
