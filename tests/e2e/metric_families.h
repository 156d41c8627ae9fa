#pragma once

// For tests only: a page of metrics beside docs/metrics.md.
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace spillway::e2e {

struct Family {
  std::string type;
  std::set<std::string> labels;

  bool operator==(const Family&) const = default;
};

inline std::string to_string(const Family& family) {
  std::string out = family.type + " of";
  for (const auto& label : family.labels) {
    out += " " + label;
  }
  return out;
}

using Families = std::map<std::string, Family>;

/// What a page exposes: histograms by their family's name, without `le`.
inline Families exposed(const std::string& page) {
  Families families;
  std::istringstream lines(page);
  const std::regex type(R"(# TYPE (\S+) (\S+))");
  const std::regex sample(R"(([a-z_]+)(?:\{(.*)\})? \S+)");
  const std::regex label(R"(([a-z_]+)=")");
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, type)) {
      family = match[1];
      families[family].type = match[2];
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_TRUE(match[1].str().starts_with(family)) << line;
      const std::string labels = match[2];
      for (auto it = std::sregex_iterator(labels.begin(), labels.end(), label);
           it != std::sregex_iterator(); ++it) {
        if ((*it)[1] != "le") {
          families[family].labels.insert((*it)[1]);
        }
      }
    }
  }
  return families;
}

/// What docs/metrics.md says of names with this beginning: | `name` | type | labels | unit |
/// meaning |
inline Families documented(std::string_view beginning) {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/metrics.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  Families families;
  const std::regex row(R"(\n\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|)");
  const std::regex word("[a-z_]+");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), row); it != std::sregex_iterator();
       ++it) {
    const std::string name = (*it)[1];
    if (!name.starts_with(beginning)) {
      continue;  // another program's
    }
    EXPECT_FALSE(families.contains(name)) << name << " stands twice";
    Family& family = families[name];
    family.type = (*it)[2];
    const std::string labels = (*it)[3];
    for (auto at = std::sregex_iterator(labels.begin(), labels.end(), word);
         at != std::sregex_iterator(); ++at) {
      family.labels.insert(at->str());
    }
    const std::string unit = (*it)[4];
    if (name.ends_with("_seconds") || name.find("_bytes") != std::string::npos) {
      EXPECT_NE(name.find("_" + unit), std::string::npos) << name << " in " << unit;
    }
  }
  return families;
}

/// Fails the test where the two differ.
inline void expect_documented(const Families& seen, const Families& written) {
  for (const auto& [name, family] : seen) {
    const auto known = written.find(name);
    if (known == written.end()) {
      ADD_FAILURE() << name << " is exposed and not in docs/metrics.md";
      continue;
    }
    EXPECT_EQ(to_string(known->second), to_string(family)) << name;
  }
  for (const auto& [name, family] : written) {
    EXPECT_TRUE(seen.contains(name)) << name << " is in docs/metrics.md and never exposed";
  }
}

}  // namespace spillway::e2e
