// What is bid on a deal, by the kind of auction that it names.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "bidder/pricing.h"

namespace spillway::bidder {
namespace {

using testing::Market;
using testing::Rows;

/// The price of a bid worth 4 on deal "d", shaded by half of what is above the floor where it is
/// shaded; of an auction that is `at`, with what else the deal says.
std::string price(std::string_view at, std::string_view deal) {
  Rows rows;
  rows.campaign(1, 4.0);
  rows.rows().line_items[0].targeting.of(Dimension::kDeal).include = {"d"};
  const SurplusShade shade{.keep_ratio = 0.5};
  Market market(rows.rows());
  market.shading = shade.hook();
  Pipeline pipeline(market.stats);
  std::string body = R"({"id":"r","tmax":200,"at":)";
  body += at;
  body += R"(,"imp":[{"id":"1","banner":{"w":300,"h":250},"pmp":{"deals":[{"id":"d")";
  body += deal;
  body += "}]}}]}";
  market.run(pipeline, body);
  EXPECT_NE(pipeline.body().find(R"("dealid":"d")"), std::string::npos) << pipeline.body();
  constexpr std::string_view kPrice = R"("price":)";
  const size_t from = pipeline.body().find(kPrice);
  if (from == std::string::npos) {
    return "no bid";
  }
  const size_t begin = from + kPrice.size();
  return pipeline.body().substr(begin, pipeline.body().find_first_of(",}", begin) - begin);
}

TEST(PipelineDeals, ADealAtSecondPriceIsBidAtItsValueWhateverTheAuction) {
  EXPECT_EQ(price("1", R"(,"bidfloor":1,"at":2)"), "4");
  EXPECT_EQ(price("2", R"(,"bidfloor":1,"at":2)"), "4");
}

TEST(PipelineDeals, ADealAtFirstPriceIsShadedWhateverTheAuction) {
  EXPECT_EQ(price("1", R"(,"bidfloor":1,"at":1)"), "2.5");
  EXPECT_EQ(price("2", R"(,"bidfloor":1,"at":1)"), "2.5");
}

TEST(PipelineDeals, ADealAtAFixedPriceIsBidAtThatPrice) {
  EXPECT_EQ(price("1", R"(,"bidfloor":1,"at":3)"), "1");
  EXPECT_EQ(price("2", R"(,"bidfloor":1,"at":3)"), "1");
}

TEST(PipelineDeals, ADealThatNamesNoAuctionOfOursIsSoldAsItsRequestSays) {
  for (const std::string_view deal :
       {R"(,"bidfloor":1)", R"(,"bidfloor":1,"at":7)", R"(,"bidfloor":1,"at":0)"}) {
    EXPECT_EQ(price("1", deal), "2.5") << deal;
    EXPECT_EQ(price("2", deal), "4") << deal;
  }
  EXPECT_EQ(price("1", R"(,"at":3)"), "2") << "a fixed price that is not said is none";
}

}  // namespace
}  // namespace spillway::bidder
