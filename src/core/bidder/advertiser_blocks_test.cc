#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/retrieval.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

/// What a request with `members` has against the only advertiser.
Misfit blocked(std::string_view domain, const std::vector<std::string>& categories,
               std::string_view members) {
  SmallCatalog small;
  small.add(1);
  small.rows.advertisers[0].domain = domain;
  small.rows.advertisers[0].categories = categories;
  const Catalog catalog = small.compile();
  const Said said(banner_request(members));
  Retrieval retrieval;
  retrieval.begin(catalog, said.facts, kWednesdayNoonS);
  retrieval.begin_imp(0);
  std::vector<Candidate> candidates(2);
  if (retrieval.next(candidates) == 1) {
    return Misfit::kNone;
  }
  const bool by_category = retrieval.dropped()[static_cast<size_t>(Misfit::kCategory)] == 1;
  return by_category ? Misfit::kCategory : Misfit::kAdvertiser;
}

TEST(AdvertiserBlocks, blocked_categories_block_their_children_and_their_parents) {
  EXPECT_EQ(blocked("a.example", {"IAB7-39"}, R"(,"bcat":["IAB7"])"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", {"IAB7"}, R"(,"bcat":["iab7-39"])"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", {"IAB7-3"}, R"(,"bcat":["IAB7-39"])"), Misfit::kNone);
  EXPECT_EQ(blocked("a.example", {"IAB1"}, R"(,"bcat":["IAB10","IAB2"])"), Misfit::kNone);
  EXPECT_EQ(blocked("a.example", {"IAB1", "IAB2"}, R"(,"bcat":["IAB2"])"), Misfit::kCategory);
}

TEST(AdvertiserBlocks, categories_that_cannot_be_compared_let_nobody_pass) {
  EXPECT_EQ(blocked("a.example", {"IAB1"}, R"(,"bcat":["483"],"cattax":7)"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", {"IAB1"}, R"(,"cattax":7)"), Misfit::kNone);
}

TEST(AdvertiserBlocks, equal_codes_of_two_taxonomies_are_two_categories) {
  const std::vector<std::string> filed{"IAB1", "7:483", "2:12"};
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["483"],"cattax":7)"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["12"],"cattax":7)"), Misfit::kNone);
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["12"],"cattax":2)"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["483"],"cattax":2)"), Misfit::kNone);
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["IAB1"],"cattax":7)"), Misfit::kNone)
      << "is no code of 7 that it is filed under";
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["483"],"cattax":5)"), Misfit::kCategory)
      << "nobody knows what it is in 5";
  EXPECT_EQ(blocked("a.example", filed, R"(,"bcat":["483"])"), Misfit::kCategory) << "no code of 1";
  EXPECT_EQ(blocked("a.example", {"7:483"}, R"(,"bcat":["IAB1"])"), Misfit::kNone);
}

TEST(AdvertiserBlocks, where_categories_are_allowed_one_of_them_must_be_named) {
  EXPECT_EQ(blocked("a.example", {"IAB7-39"}, R"(,"acat":["IAB7"])"), Misfit::kNone);
  EXPECT_EQ(blocked("a.example", {"IAB1", "IAB7"}, R"(,"acat":["iab7","IAB9"])"), Misfit::kNone);
  EXPECT_EQ(blocked("a.example", {"IAB7"}, R"(,"acat":["IAB7-39"])"), Misfit::kCategory)
      << "it may be in another child";
  EXPECT_EQ(blocked("a.example", {}, R"(,"acat":["IAB7"])"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", {"IAB7", "7:483"}, R"(,"acat":["483"],"cattax":7)"),
            Misfit::kNone);
  EXPECT_EQ(blocked("a.example", {"IAB7"}, R"(,"acat":["IAB7"],"cattax":7)"), Misfit::kCategory);
  EXPECT_EQ(blocked("a.example", {"IAB7"}, R"(,"acat":["IAB7"],"bcat":["IAB7-1"])"),
            Misfit::kCategory);
}

TEST(AdvertiserBlocks, blocked_domains_block_their_subdomains_and_no_namesakes) {
  EXPECT_EQ(blocked("shop.bad.example", {}, R"(,"badv":["WWW.bad.example"])"), Misfit::kAdvertiser);
  EXPECT_EQ(blocked("bad.example", {}, R"(,"badv":["bad.example"])"), Misfit::kAdvertiser);
  EXPECT_EQ(blocked("notbad.example", {}, R"(,"badv":["bad.example"])"), Misfit::kNone);
  EXPECT_EQ(blocked("bad.example", {}, R"(,"badv":["shop.bad.example"])"), Misfit::kNone);
}

TEST(AdvertiserBlocks, what_one_request_blocks_the_next_does_not) {
  SmallCatalog small;
  small.add(1);
  const Catalog catalog = small.compile();
  const Said blocking(banner_request(R"(,"badv":["brand.example"])"));
  const Said plain(banner_request());
  Retrieval retrieval;
  std::vector<Candidate> candidates(2);
  for (int i = 0; i < 3; ++i) {
    retrieval.begin(catalog, blocking.facts, kWednesdayNoonS);
    retrieval.begin_imp(0);
    EXPECT_EQ(retrieval.next(candidates), 0U);
    retrieval.begin(catalog, plain.facts, kWednesdayNoonS);
    retrieval.begin_imp(0);
    EXPECT_EQ(retrieval.next(candidates), 1U);
  }
}

}  // namespace
}  // namespace spillway::bidder
