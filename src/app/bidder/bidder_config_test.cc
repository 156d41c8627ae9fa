#include "app/bidder/bidder_config.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/config/page_fixture.h"
#include "app/config/reader.h"

namespace spillway::app::bidding {
namespace {

std::string problems_of(std::string_view text) {
  std::vector<ConfigProblem> problems;
  (void)read_bidder_config(text, problems);
  std::string out;
  for (const auto& problem : problems) {
    out += to_string(problem, "f") + "\n";
  }
  return out;
}

constexpr std::string_view kLeast =
    "exchanges: [{ name: x }]\ncatalog: { address: \"sqlite:/c.db\" }\n";

std::string with(std::string_view more) { return std::string(kLeast) + std::string(more); }

TEST(BidderConfig, TheLeastIsEnough) { EXPECT_EQ(problems_of(kLeast), ""); }

TEST(BidderConfig, SaysEveryProblemByKeyAndLine) {
  const auto said = problems_of(
      "exchanges: []\n"
      "catalog: { address: \"mysql://x\" }\n"
      "pipeline: { deadline: 0ms, contenders: 100 }\n"
      "notices: { public_url: \"ftp://x\" }\n"
      "scoring: { test_ratio: 2 }\n"
      "bidders: {}\n");
  for (const std::string_view part :
       {"names no exchanges", "f:2: catalog.address: must be sqlite:FILE",
        "f:3: pipeline.deadline:", "f:3: pipeline.contenders: must not be more than candidates",
        "f:4: notices.public_url:", "f:5: scoring.test_ratio:", "f:6: bidders"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
}

TEST(BidderConfig, NoticesWantKeysAndKeysWantLength) {
  EXPECT_NE(
      problems_of(with("notices: { public_url: \"https://n.example\" }\n")).find("must have keys"),
      std::string::npos);
  const auto short_key = problems_of(
      "exchanges: [{ name: x, keys: [{ id: a, secret: short }] }]\n"
      "catalog: { address: \"sqlite:/c.db\" }\n");
  EXPECT_NE(short_key.find("f:1: exchanges[0].keys[0].secret: must have 32 bytes"),
            std::string::npos)
      << short_key;
}

TEST(BidderConfig, TheCacheOfCountsMustSayHowRequestsAreRouted) {
  EXPECT_EQ(problems_of(with("caps: { cache: { routing: sticky, ttl: 1m } }\n")), "");
  EXPECT_NE(problems_of(with("caps: { cache: { ttl: 1m } }\n")).find("caps.cache.routing"),
            std::string::npos);
}

TEST(BidderConfig, RedisMustBeSomewhere) {
  EXPECT_EQ(problems_of(with("redis: { primary: \"127.0.0.1:6379\" }\n")), "");
  EXPECT_NE(problems_of(with("redis: {}\n")), "");
}

// Every list and mapping there is, so that every key is asked for.
constexpr std::string_view kWhole = R"(
exchanges: [{ name: x, keys: [{ id: a, secret: "0123456789abcdef0123456789abcdef" }] }]
catalog: { address: "sqlite:/c.db" }
redis: { primary: "127.0.0.1:6379" }
)";

TEST(BidderConfigurationPage, HasExactlyTheKeysThatAreReadWithTheirDefaults) {
  std::vector<ConfigProblem> problems;
  std::vector<AskedKey> asked;
  (void)read_bidder_config(kWhole, problems, &asked);
  EXPECT_TRUE(problems.empty());
  EXPECT_GT(testing::compare_keys(testing::page("bidder_configuration.md"), asked,
                                  {"required", "one a processor", "none: plain HTTP", "none"}),
            80U);
}

TEST(BidderConfigurationPage, ShowsExamplesThatWork) {
  EXPECT_GE(testing::try_examples(testing::page("bidder_configuration.md"), problems_of), 2U);
}

}  // namespace
}  // namespace spillway::app::bidding
