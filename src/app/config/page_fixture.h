#pragma once

// For tests only: a page of docs/ beside the keys that are read.
#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/reader.h"

namespace spillway::app::testing {

inline std::string page(const std::string& name) {
  std::ifstream file(std::string(SPILLWAY_SOURCE_DIR "/docs/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The page has a row for each key, with its default unless that is one of `in_words`, and no
/// other; how many defaults were compared. Rows of metrics are no keys.
inline size_t compare_keys(const std::string& text, const std::vector<AskedKey>& asked,
                           const std::set<std::string>& in_words) {
  const std::regex row(R"(\n\| `([^`]+)` \| [^|]+ \| ([^|]*) \|)");
  std::set<std::string> written;
  size_t compared = 0;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), row); it != std::sregex_iterator();
       ++it) {
    const std::string key = (*it)[1];
    if (key.starts_with("spillway_")) {
      continue;
    }
    EXPECT_TRUE(written.insert(key).second) << key << " stands twice";
    const std::string value = std::regex_replace((*it)[2].str(), std::regex("`"), "");
    bool read = false;
    for (const auto& [path, fallback] : asked) {
      read = read || path == key;
      if (path == key && !in_words.contains(value)) {
        ++compared;
        EXPECT_EQ(value, fallback) << key;
      }
    }
    EXPECT_TRUE(read) << key << " is on the page and never read";
  }
  for (const auto& key : asked) {
    EXPECT_TRUE(written.contains(key.path))
        << key.path << " is read and not on the page, default " << key.fallback;
  }
  return compared;
}

/// Every YAML example of the page has no problems; how many there are.
inline size_t try_examples(const std::string& text,
                           const std::function<std::string(std::string_view)>& problems_of) {
  const std::regex block("```yaml\n([^`]*)```");
  size_t examples = 0;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), block);
       it != std::sregex_iterator(); ++it) {
    ++examples;
    EXPECT_EQ(problems_of((*it)[1].str()), "") << (*it)[1];
  }
  return examples;
}

}  // namespace spillway::app::testing
