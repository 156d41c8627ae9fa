#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/allocations_test.h"
#include "bidder/caps/segments.h"
#include "bidder/generate/catalogs.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"

namespace spillway::bidder {
namespace {

using testing::kNowS;
using testing::Market;

TEST(PipelineAllocations, NoneAfterAWarmUpFromRequestToAnswer) {
  const auto rows = generate::parity_catalog({.seed = 42, .campaigns = 2'000, .today_s = kNowS});
  Market market(rows);
  const std::string ids = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n40\n1000";
  market.segments = [&](const Ask&) {
    return caps::Segments{.state = caps::SegmentState::kKnown, .ids = ids};
  };
  std::vector<caps::CapCounts> none(4096);
  market.counts = [&](const Ask& ask) {
    return Market::Counts(std::span(none).first(ask.keys.size()));
  };
  const std::string body =
      R"({"id":"a-request-id-longer-than-any-small-string","tmax":120,"at":2,"cur":["USD"],)"
      R"("site":{"domain":"a-rather-long-domain-name.example","cat":["IAB12"]},"bcat":["IAB25"],)"
      R"("user":{"id":"a-user-id-longer-than-any-small-string"},"device":{"devicetype":2,)"
      R"("language":"en","geo":{"country":"USA","metro":"501"}},"imp":[{"id":"an-imp-id-longer-)"
      R"(than-any-small-string","bidfloor":0.03,"banner":{"w":300,"h":250}},{"id":"2",)"
      R"("banner":{"w":728,"h":90}}]})";
  Pipeline pipeline(market.stats);
  market.run(pipeline, body);
  ASSERT_GT(pipeline.bids(), 0U) << to_string(pipeline.reason());
  for (int i = 0; i < 200; ++i) {
    market.run(pipeline, body);
  }
  const size_t warm = allocations();
  for (int i = 0; i < 100; ++i) {
    market.run(pipeline, body);
  }
  EXPECT_EQ(allocations(), warm);
}

}  // namespace
}  // namespace spillway::bidder
