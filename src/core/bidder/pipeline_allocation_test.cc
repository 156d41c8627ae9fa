#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/allocations_test.h"
#include "bidder/caps/segments.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "openrtb/consent/bit_writer.h"

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

/// Requests of every kind that the market sends: what only one of them says must not cost the next
/// one its memory.
std::vector<std::string> mixed_requests() {
  const std::string head = R"({"id":"a-request-id-longer-than-any-small-string","tmax":120,)";
  const std::string user = R"("user":{"id":"a-user-id-longer-than-any-small-string")";
  const std::string device = R"("device":{"devicetype":2,"geo":{"country":"USA","metro":"501"}})";
  const std::string imp = R"({"id":"1","bidfloor":0.03,"banner":{"w":300,"h":250}})";
  const std::string tcf = openrtb::consent::tcf_text({1, 2, 7});
  const std::string gpp = "DBABM~" + tcf;
  const std::string site = R"("site":{"domain":"a-rather-long-domain-name.example"})";
  std::vector<std::string> out;
  // A consent string in both places, segments of the request's own, a long block list.
  out.push_back(
      head + site + "," + device + R"(,"regs":{"gdpr":1},)" + user + R"(,"consent":")" + tcf +
      R"(","ext":{"consent":")" + tcf +
      R"("},"data":[{"segment":[{"id":"7"},{"id":"a-segment-id-of-quite-some-length"}]}]},)" +
      R"("badv":["one-rather-long-domain.example","another-rather-long-domain.example"],)"
      R"("bcat":["IAB25","IAB7-39"],"imp":[)" +
      imp + "]}");
  // GPP with the European section and one of the United States.
  out.push_back(head + site + "," + device + R"(,"regs":{"gpp":")" + gpp +
                R"(","gpp_sid":[2],"ext":{"gpp":"DBACNY~)" + tcf +
                R"(~1YNN","some_rather_long_name_of_ours":1}},)" + user + R"(},"imp":[)" + imp +
                R"(,{"id":"2","banner":{"w":728,"h":90}},)" +
                R"({"id":"an-imp-id-longer-than-any-small-string","bidfloor":0.01,"video":)"
                R"({"w":640,"h":480,"mimes":["video/mp4"],"protocols":[2,3],"maxduration":30}}]})");
  // Deals, with seats and domains.
  out.push_back(
      head + site + "," + device + "," + user +
      R"(},"imp":[{"id":"1","banner":{"w":300,"h":250},"pmp":{"private_auction":0,"deals":)"
      R"([{"id":"a-deal-id-longer-than-any-small-string","bidfloor":0.02,"at":1,)"
      R"("wseat":["a-seat-longer-than-any-small-string","s"],)"
      R"("wadomain":["a-rather-long-domain-of-a-brand.example"]},{"id":"d2"}]}},)" +
      R"({"id":"2","banner":{"format":[{"w":300,"h":250},{"w":728,"h":90}]}}]})");
  // Opted out of sale, but for one.
  out.push_back(head + site +
                R"(,"regs":{"us_privacy":"1YYN"},"ext":{"prebid":{"nosale":)"
                R"(["a-bidder-name-longer-than-any-small-string"]}},)" +
                device + "," + user + R"(},"cur":["QQQ","USD"],"imp":[)" + imp + "]}");
  // Nothing to spare.
  out.push_back(R"({"id":"r","imp":[)" + imp + "]}");
  return out;
}

TEST(PipelineAllocations, NoneForConsentStringsDealsAndListsThatChangeFromRequestToRequest) {
  auto rows = generate::parity_catalog({.seed = 42, .campaigns = 2'000, .today_s = kNowS});
  for (auto& campaign : rows.campaigns) {
    campaign.pacing = Pacing::kAsap;
  }
  rows.line_items.front().targeting.of(Dimension::kDeal).include = {
      "a-deal-id-longer-than-any-small-string"};
  Market market(rows);
  market.settings.gvl_id = 7;  // Consented in tcf_text.
  const std::string ids = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n40\na-segment-id-of-quite-some-length";
  market.segments = [&](const Ask&) {
    return caps::Segments{.state = caps::SegmentState::kKnown, .ids = ids};
  };
  std::vector<caps::CapCounts> none(4096);
  market.counts = [&](const Ask& ask) {
    return Market::Counts(std::span(none).first(ask.keys.size()));
  };
  const auto requests = mixed_requests();
  Pipeline pipeline(market.stats);
  for (const auto& body : requests) {
    market.run(pipeline, body);
    EXPECT_TRUE(pipeline.bids() > 0 || &body == &requests.back())
        << to_string(pipeline.reason()) << "\n"
        << body;
  }
  EXPECT_EQ(market.stats.ids_withheld.value(), 1U) << "of the one that opted out";
  for (int i = 0; i < 500; ++i) {
    market.run(pipeline, requests[static_cast<size_t>(i) % requests.size()]);
  }
  for (int i = 0; i < 500; ++i) {
    const std::string& body = requests[static_cast<size_t>(i) % requests.size()];
    const size_t warm = allocations();
    market.run(pipeline, body);
    ASSERT_EQ(allocations(), warm) << body;
  }
}

}  // namespace
}  // namespace spillway::bidder
