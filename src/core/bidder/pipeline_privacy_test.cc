#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "bidder/caps/segments.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "bidder/stages.h"
#include "openrtb/consent/bit_writer.h"
#include "openrtb/consent/privacy.h"

namespace spillway::bidder {
namespace {

using openrtb::consent::PrivacyAction;
using openrtb::consent::PrivacyReason;
using openrtb::consent::tcf_text;
using testing::Market;
using testing::request;
using testing::Rows;

CatalogRows rows() {
  Rows rows;
  rows.campaign(1, 4);
  rows.rows().line_items[0].targeting.of(Dimension::kSegment).include = {"7"};
  rows.campaign(2, 3).caps = {{.most = 5}};
  rows.campaign(3, 2);
  rows.rows().line_items[2].targeting.of(Dimension::kCountry).include = {"USA"};
  rows.campaign(4, 1);
  return rows.rows();
}

/// What a request with `more` at its top gets, by campaign; asked: how often stores were.
class PipelinePrivacy : public ::testing::Test {
 protected:
  PipelinePrivacy() : market_(rows()), pipeline_(market_.stats) {
    market_.settings.gvl_id = 7;  // consented in tcf_text
    market_.segments = [](const Ask&) {
      return caps::Segments{.state = caps::SegmentState::kKnown, .ids = "7"};
    };
  }

  std::string winner(std::string_view more, std::string_view user = R"("id":"u","buyeruid":"b")") {
    market_.asked = 0;
    market_.run(pipeline_, request(1, std::string(kDevice) + std::string(more), user));
    const size_t at = pipeline_.body().find(R"("cid":")");
    return at == std::string::npos ? "" : pipeline_.body().substr(at + 7, 1);
  }

  uint64_t withheld() const { return market_.stats.ids_withheld.value(); }

  static constexpr std::string_view kDevice =
      R"(,"device":{"ifa":"6d92078a-8246-4ba4-ae5b-76104861e7dc","geo":{"country":"USA"}})";

  Market market_;
  Pipeline pipeline_;
};

TEST_F(PipelinePrivacy, WithoutASignalIdsAreUsed) {
  EXPECT_EQ(winner(""), "1");
  EXPECT_EQ(market_.asked, 1);
  EXPECT_EQ(withheld(), 0U);
}

TEST_F(PipelinePrivacy, EverySignalKeepsIdsSegmentsAndNoticesClean) {
  const std::string no_basis = tcf_text({}, {});
  const std::string gdpr = R"(,"regs":{"gdpr":1})";
  const std::string signals[] = {
      R"(,"regs":{"us_privacy":"1YYN"})",
      R"(,"regs":{"ext":{"gpc":1}})",
      R"(,"regs":{"gpp":"garbage","gpp_sid":[7]})",
      gdpr,
  };
  for (const auto& signal : signals) {
    const uint64_t before = withheld();
    EXPECT_EQ(winner(signal), "3") << signal;  // no segment, and caps have nobody to count for
    EXPECT_EQ(market_.asked, 0) << signal;
    EXPECT_EQ(withheld(), before + 1) << signal;
    EXPECT_NE(pipeline_.body().find("&u=&"), std::string::npos) << pipeline_.body();
  }
  EXPECT_EQ(winner(gdpr, R"("id":"u","consent":")" + no_basis + '"'), "3");
}

TEST_F(PipelinePrivacy, SegmentsThatTheRequestBringsAreUsedOnlyWithABasis) {
  market_.segments = nullptr;
  constexpr std::string_view kUser = R"("id":"u","data":[{"segment":[{"id":"7"}]}])";
  EXPECT_EQ(winner("", kUser), "1");
  EXPECT_EQ(winner(R"(,"regs":{"gdpr":1})", kUser), "3");
  EXPECT_EQ(winner(R"(,"regs":{"us_privacy":"1YYN"})", kUser), "3");
}

TEST_F(PipelinePrivacy, ConsentToOurPurposesAndVendorIsABasis) {
  const std::string consent = tcf_text({1, 2, 7}, {});
  EXPECT_EQ(winner(R"(,"regs":{"gdpr":1})", R"("id":"u","consent":")" + consent + '"'), "1");
  market_.settings.gvl_id = 8;
  EXPECT_EQ(winner(R"(,"regs":{"gdpr":1})", R"("id":"u","consent":")" + consent + '"'), "3");
  market_.settings.gvl_id = 0;
  EXPECT_EQ(winner(R"(,"regs":{"gdpr":1})", R"("id":"u","consent":")" + consent + '"'), "3");
}

TEST_F(PipelinePrivacy, OfAChildThePlaceIsNotUsedEither) {
  EXPECT_EQ(winner(R"(,"regs":{"coppa":1})"), "4");
  EXPECT_EQ(market_.stats.privacy[static_cast<size_t>(PrivacyReason::kCoppa)].value(), 1U);
}

TEST_F(PipelinePrivacy, APolicyMayBeNotToBid) {
  market_.settings.privacy.coppa = PrivacyAction::kNoCall;
  EXPECT_EQ(winner(R"(,"regs":{"coppa":1})"), "");
  EXPECT_EQ(pipeline_.reason(), NoBidReason::kPrivacy);
}

TEST_F(PipelinePrivacy, AnAddressIsLookedUpOnlyWhereItMayBe) {
  static int looked_up = 0;
  looked_up = 0;
  GeoHook hook{.call =
                   [](const void*, std::string_view, GeoFacts&) {
                     ++looked_up;
                     return false;
                   },
               .context = nullptr};
  const auto run = [&](std::string_view more) {
    std::string body =
        request(1, std::string(R"(,"device":{"ip":"198.51.100.7"})") + std::string(more));
    body.append(openrtb::Document::kPadding, ' ');
    auto world = market_.world();
    world.geo = hook;
    pipeline_.begin(world, {.now = market_.now,
                            .time_zero = market_.now,
                            .unix_s = testing::kNowS,
                            .bid_key = 99,
                            .shed = false,
                            .debug = false,
                            .exchange = 0,
                            .body = std::string_view(body).substr(
                                0, body.size() - openrtb::Document::kPadding)});
    market_.finish(pipeline_);
  };
  run("");
  EXPECT_EQ(looked_up, 1);
  run(R"(,"regs":{"gdpr":1})");
  EXPECT_EQ(looked_up, 1);
}

}  // namespace
}  // namespace spillway::bidder
