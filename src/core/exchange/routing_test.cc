#include "exchange/routing.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/fake_market.h"
#include "exchange/prebid.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange {
namespace {

using openrtb::MediaType;
using openrtb::NonBid;

constexpr auto kBanner = static_cast<uint8_t>(MediaType::kBanner);
constexpr auto kVideo = static_cast<uint8_t>(MediaType::kVideo);
constexpr auto kNative = static_cast<uint8_t>(MediaType::kNative);

/// One DSP with one endpoint and a request of three imps: banner, video, both.
class RoutingTest : public ::testing::Test {
 protected:
  RoutingTest() {
    snapshot_.dsps.emplace_back().name = "alpha";
    snapshot_.dsps[0].endpoints.emplace_back();
    request_.imps.resize(3);
    request_.imps[0].media = kBanner;
    request_.imps[0].sizes = {{.w = 300, .h = 250}, {.w = 728, .h = 90}};
    request_.imps[1].media = kVideo;
    request_.imps[2].media = kBanner | kVideo;
    request_.country = "DEU";
    request_.publisher_id = "pub";
  }

  void route(uint64_t hash = 1) { routes_.route(snapshot_, request_, prebid_, hash); }

  Routing& rules() { return snapshot_.dsps[0].routing; }

  NonBid code(size_t imp = 0) { return routes_.code_of(0, imp); }

  size_t candidates() { return routes_.candidates().size(); }

  Snapshot snapshot_;
  openrtb::RequestView request_;
  Prebid prebid_;
  Routes routes_;
};

TEST_F(RoutingTest, ADspWithoutRulesIsAskedForEverythingAtOnce) {
  route();
  ASSERT_EQ(candidates(), 1U);
  EXPECT_EQ(routes_.candidates()[0].imps, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(RoutingTest, ImpsAreSplitOverTheEndpointsOfADsp) {
  auto& endpoints = snapshot_.dsps[0].endpoints;
  endpoints[0].media = kBanner;
  endpoints.emplace_back().media = kVideo;
  route();
  ASSERT_EQ(candidates(), 2U);
  EXPECT_EQ(routes_.candidates()[0].endpoint, 0U);
  EXPECT_EQ(routes_.candidates()[0].imps, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(routes_.candidates()[1].endpoint, 1U);
  EXPECT_EQ(routes_.candidates()[1].imps, (std::vector<uint32_t>{1}));
}

TEST_F(RoutingTest, AnEndpointThatTakesTheWholeImpComesBeforeOneThatTakesAPart) {
  auto& endpoints = snapshot_.dsps[0].endpoints;
  endpoints[0].media = kBanner;
  endpoints.emplace_back().media = kBanner | kVideo;
  route();
  ASSERT_EQ(candidates(), 2U);
  EXPECT_EQ(routes_.candidates()[0].imps, (std::vector<uint32_t>{0}));
  EXPECT_EQ(routes_.candidates()[1].imps, (std::vector<uint32_t>{1, 2}));
}

TEST_F(RoutingTest, AMediaTypeWithoutEndpointIs202AndOtherDspsGoOn) {
  snapshot_.dsps[0].endpoints[0].media = kNative;
  snapshot_.dsps.push_back(snapshot_.dsps[0]);
  snapshot_.dsps[1].endpoints[0].media = kBanner;
  route();
  ASSERT_EQ(candidates(), 1U);
  EXPECT_EQ(routes_.candidates()[0].dsp, 1U);
  EXPECT_EQ(code(0), NonBid::kMediaType);
  EXPECT_EQ(routes_.code_of(1, 1), NonBid::kMediaType);
  EXPECT_EQ(routes_.candidate_of(1, 1), Routes::kNoCandidate);
  EXPECT_EQ(routes_.candidate_of(1, 2), 0U);
}

TEST_F(RoutingTest, CountriesAndPublishersAreRules) {
  rules().countries = {"FRA", "DEU"};
  route();
  EXPECT_EQ(candidates(), 1U);
  rules().countries = {"FRA"};
  route();
  EXPECT_EQ(candidates(), 0U);
  EXPECT_EQ(code(), NonBid::kBlocked);
  rules().countries = {};
  rules().publishers_allow = {"other"};
  route();
  EXPECT_EQ(candidates(), 0U);
  rules().publishers_allow = {"other", "pub"};
  route();
  EXPECT_EQ(candidates(), 1U);
  rules().publishers_deny = {"pub"};
  route();
  EXPECT_EQ(candidates(), 0U);
  EXPECT_EQ(code(), NonBid::kBlocked);
}

TEST_F(RoutingTest, OneWantedSizeIsEnoughAndAnImpWithoutSizesSuitsAll) {
  rules().sizes = {{.w = 728, .h = 90}};
  route();
  ASSERT_EQ(candidates(), 1U);
  EXPECT_EQ(routes_.candidates()[0].imps, (std::vector<uint32_t>{0, 1, 2}));
  rules().sizes = {{.w = 160, .h = 600}};
  route();
  ASSERT_EQ(candidates(), 1U);
  EXPECT_EQ(routes_.candidates()[0].imps, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(code(0), NonBid::kBlocked);
}

TEST_F(RoutingTest, AShareOfTrafficIsThatShareOfTheRequestsAndDiffersByDsp) {
  rules().share_ratio = 0.25;
  snapshot_.dsps.push_back(snapshot_.dsps[0]);
  snapshot_.dsps[1].name = "beta";
  int asked = 0;
  int both = 0;
  for (uint64_t hash = 0; hash < 20'000; ++hash) {
    route(hash);
    asked += routes_.candidate_of(0, 0) != Routes::kNoCandidate ? 1 : 0;
    both += candidates() == 2 ? 1 : 0;
  }
  EXPECT_NEAR(asked, 5'000, 250);
  EXPECT_NEAR(both, 1'250, 150);
  rules().share_ratio = 0;
  route();
  EXPECT_EQ(code(), NonBid::kOptimized);
}

}  // namespace
}  // namespace spillway::exchange
