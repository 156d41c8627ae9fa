// docs/configuration.md against the code that reads the configuration.
#include <cstddef>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/config_fixture.h"
#include "app/config/exchange_config.h"
#include "app/config/reader.h"

namespace spillway::app {
namespace {

using testing::problems_of;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every list and mapping there is, so that every key is asked for.
constexpr std::string_view kWhole = R"(
dsps: [{ name: a, endpoint: "https://h/", regions: { eu: {} } }, { name: b, endpoints: [{ url: "https://h/" }] }]
accounts: [{ publisher: p }]
notices: { public_url: "https://x.example", keys: [{ id: a, secret: "0123456789abcdef0123456789abcdef" }], instances: { b: { url: "https://i/" } } }
house_ads: [{ type: native, adm: "{}" }]
)";

TEST(ConfigurationPage, HasExactlyTheKeysThatAreRead) {
  std::vector<ConfigProblem> problems;
  std::vector<AskedKey> asked;
  (void)read_exchange_config(kWhole, problems, &asked);
  EXPECT_TRUE(problems.empty());
  std::set<std::string> read;
  for (const auto& key : asked) {
    read.insert(key.path);
  }

  // Rows of the page's tables begin with a key in backticks: | `exchange.listen` | ...
  const auto page = read_file(SPILLWAY_SOURCE_DIR "/docs/configuration.md");
  std::set<std::string> written;
  const std::regex row(R"(\n\| `([^`]+)` \|)");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), row); it != std::sregex_iterator();
       ++it) {
    EXPECT_TRUE(written.insert((*it)[1]).second) << (*it)[1] << " stands twice";
  }
  for (const auto& key : read) {
    EXPECT_TRUE(written.contains(key)) << key << " is read and not in docs/configuration.md";
  }
  for (const auto& key : written) {
    EXPECT_TRUE(read.contains(key)) << key << " is in docs/configuration.md and never read";
  }
}

// Defaults that depend on something else; all others must be what the code has.
const std::set<std::string> kInWords{"one a processor",
                                     "none: nothing is recorded",
                                     "none: the system's store",
                                     "none: plain HTTP",
                                     "none: the default account",
                                     "required",
                                     "required, or endpoints",
                                     "required for banners",
                                     "the name",
                                     "the guard's",
                                     "dsps[].guard.qps, else guards.qps",
                                     "the region's",
                                     "inherited",
                                     "all",
                                     "none",
                                     "unknown"};

TEST(ConfigurationPage, HasTheDefaultsOfTheCode) {
  std::vector<ConfigProblem> problems;
  std::vector<AskedKey> asked;
  (void)read_exchange_config(kWhole, problems, &asked);
  const auto page = read_file(SPILLWAY_SOURCE_DIR "/docs/configuration.md");
  const std::regex row(R"(\n\| `([^`]+)` \| [^|]+ \| ([^|]*) \|)");
  size_t literal = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), row); it != std::sregex_iterator();
       ++it) {
    const std::string key = (*it)[1];
    const std::string written = std::regex_replace((*it)[2].str(), std::regex("`"), "");
    if (kInWords.contains(written)) {
      continue;
    }
    ++literal;
    for (const auto& [path, fallback] : asked) {
      if (path == key) {
        EXPECT_EQ(written, fallback) << key;
      }
    }
  }
  EXPECT_GT(literal, 80U);
}

TEST(ConfigurationPage, ShowsAnExampleThatWorks) {
  const auto page = read_file(SPILLWAY_SOURCE_DIR "/docs/configuration.md");
  const std::regex block("```yaml\n([^`]*)```");
  size_t examples = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), block);
       it != std::sregex_iterator(); ++it) {
    ++examples;
    EXPECT_EQ(problems_of((*it)[1].str()), "");
  }
  EXPECT_GE(examples, 2U);
}

}  // namespace
}  // namespace spillway::app
