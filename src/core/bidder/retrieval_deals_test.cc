#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/creative_fit.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/retrieval.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

std::string deal_request(std::string_view pmp) {
  return R"({"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250},"pmp":)" + std::string(pmp) +
         "}]}";
}

TEST(Retrieval, private_auctions_take_only_line_items_that_include_one_of_their_deals) {
  SmallCatalog small;
  small.add(1).of(Dimension::kDeal).include = {"d1"};
  small.add(2).of(Dimension::kDeal).exclude = {"d1"};
  small.add(3);
  EXPECT_EQ(served(small, deal_request(R"({"private_auction":1,"deals":[{"id":"d1"}]})")), Ids{1});
  EXPECT_EQ(served(small, deal_request(R"({"private_auction":1,"deals":[{"id":"d2"}]})")), Ids{});
  EXPECT_EQ(served(small, deal_request(R"({"deals":[{"id":"d1"}]})")), (Ids{1, 3}));
  EXPECT_EQ(served(small, deal_request(R"({"deals":[{"id":"d2"}]})")), (Ids{2, 3}));
  EXPECT_EQ(served(small, banner_request()), (Ids{2, 3}));
}

TEST(Retrieval, deals_of_other_seats_and_other_advertisers_are_not_bought) {
  SmallCatalog small;
  small.add(1).of(Dimension::kDeal).include = {"d1", "d2"};
  EXPECT_EQ(served(small, deal_request(R"({"deals":[{"id":"d1","wseat":["theirs"]}]})")), Ids{});
  EXPECT_EQ(served(small, deal_request(R"({"deals":[{"id":"d1","wseat":["x","ours"]}]})")), Ids{1});
  EXPECT_EQ(served(small, deal_request(R"({"deals":[{"id":"d1","wadomain":["other.example"]}]})")),
            Ids{});
  const Catalog catalog = small.compile();
  const Said said(deal_request(
      R"({"deals":[{"id":"d9"},{"id":"d1","wadomain":["other.example"]},{"id":"d2"}]})"));
  Retrieval retrieval;
  retrieval.begin(catalog, said.facts, kWednesdayNoonS);
  retrieval.begin_imp(0);
  std::vector<Candidate> candidates(10);
  ASSERT_EQ(retrieval.next(candidates), 1U);
  EXPECT_EQ(candidates[0].deal, 2U);
}

}  // namespace
}  // namespace spillway::bidder
