#include "bidder/scoring/feature_rows.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/money.h"
#include "base/time.h"
#include "bidder/allocations_test.h"
#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/pacing/grant.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pricing.h"
#include "bidder/retrieval.h"
#include "bidder/scoring/cascade.h"
#include "bidder/scoring/document.h"
#include "bidder/scoring/features.h"
#include "bidder/scoring/model.h"
#include "bidder/scoring/trained_model_test.h"
#include "bidder/scoring/tree_model.h"
#include "bidder/scoring/xgboost_model.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

constexpr std::string_view kRequest =
    R"({"id":"r","at":1,"imp":[{"id":"1","instl":1,"secure":1,"bidfloor":0.5,)"
    R"("banner":{"w":300,"h":250,"pos":3},"pmp":{"deals":[{"id":"d","bidfloor":2,"at":3}]}}],)"
    R"("device":{"devicetype":4,"os":"iOS"},"app":{"bundle":"com.example"},"user":{"id":"u",)"
    R"("data":[{"segment":[{"id":"7"},{"id":"8"}]}]}})";

FeatureRow row_of(const Catalog& catalog, const RequestFacts& facts, const Candidate& candidate) {
  FeatureRows rows;
  rows.begin(facts, kWednesdayNoonS);
  rows.begin_imp(facts.imps()[0]);
  FeatureRow row;
  rows.fill(catalog, candidate, row);
  return row;
}

TEST(FeatureRows, SayWhatTheRequestTheImpAndTheCandidateAre) {
  SmallCatalog small;
  small.add(5).of(Dimension::kSegment).include = {"7"};
  const Catalog catalog = small.compile();
  Said said(kRequest);
  said.facts.segment_state = SegmentState::kKnown;
  FeatureRow row = row_of(catalog, said.facts, {});
  EXPECT_EQ(at(row, Feature::kHour), 12);
  EXPECT_EQ(at(row, Feature::kWeekday), 2);
  EXPECT_EQ(at(row, Feature::kWeekend), 0);
  EXPECT_EQ(at(row, Feature::kDeviceMobile), 1);
  EXPECT_EQ(at(row, Feature::kDevicePc), 0);
  EXPECT_EQ(at(row, Feature::kOsIos), 1);
  EXPECT_EQ(at(row, Feature::kApp), 1);
  EXPECT_EQ(at(row, Feature::kUserKnown), 1);
  EXPECT_EQ(at(row, Feature::kSegmentCount), 2);
  EXPECT_EQ(at(row, Feature::kMediaBanner), 1);
  EXPECT_EQ(at(row, Feature::kMediaVideo), 0);
  EXPECT_EQ(at(row, Feature::kImpWidth), 300);
  EXPECT_EQ(at(row, Feature::kPosition), 3);
  EXPECT_EQ(at(row, Feature::kInstl), 1);
  EXPECT_EQ(at(row, Feature::kFloorCpm), 0.5F);
  EXPECT_EQ(at(row, Feature::kDeal), 0);
  EXPECT_EQ(at(row, Feature::kFirstPrice), 1);
  EXPECT_EQ(at(row, Feature::kCreativeHeight), 250);
  EXPECT_TRUE(std::isnan(at(row, Feature::kCreativeDuration)));
  EXPECT_EQ(at(row, Feature::kSegmentTargeted), 1);
  EXPECT_EQ(at(row, Feature::kGoalValue), 1);
  EXPECT_EQ(at(row, Feature::kCampaignBucket), bucket_of(5));
  EXPECT_EQ(at(row, Feature::kPublisherBucket), bucket_of(std::string_view("com.example")));
  row = row_of(catalog, said.facts, {.item = 0, .creative = 0, .deal = 0});
  EXPECT_EQ(at(row, Feature::kDeal), 1);
  EXPECT_EQ(at(row, Feature::kFloorCpm), 2);
  EXPECT_EQ(at(row, Feature::kFirstPrice), 0);
}

TEST(FeatureRows, WhatARequestDoesNotSayIsMissing) {
  SmallCatalog small;
  small.add(5);
  Said said(banner_request());
  said.facts.segment_state = SegmentState::kCouldNotAsk;
  FeatureRow row = row_of(small.compile(), said.facts, {});
  for (const Feature feature :
       {Feature::kDeviceMobile, Feature::kOsIos, Feature::kSegmentCount, Feature::kPosition,
        Feature::kPublisherBucket, Feature::kCreativeDuration}) {
    EXPECT_TRUE(std::isnan(at(row, feature))) << to_string(feature);
  }
  EXPECT_EQ(at(row, Feature::kSegmentTargeted), 0);
  EXPECT_EQ(at(row, Feature::kUserKnown), 0);
}

TEST(Allocations, ScoringPricingAndPacingMakeNone) {
  SmallCatalog small;
  for (int64_t id = 1; id <= 40; ++id) {
    small.add(id);
  }
  const Catalog catalog = small.compile();
  const Said said(kRequest);
  const TrainedModel trained({.columns = kFeatures, .rounds = 10, .depth = 5, .rows = 500});
  const TreeModel trees = read_xgboost(*read_document(trained.save("ubj")), "")->trees;
  const Cascade cascade({Model("first", ConstantModel{0.5F}), Model("then", trees)}, {}, 10);
  LocalGrant grant({.accounts = 64, .open_bids = 4096});
  Pacer pacer({});
  std::vector<CampaignBudget> budgets;
  std::vector<PacedCampaign> paced;
  for (int64_t id = 1; id <= 40; ++id) {
    budgets.push_back({id, base::money_of_micros(1'000'000), {}});
    paced.push_back({id, Pacing::kAsap});
  }
  ASSERT_EQ(grant.refresh(budgets, kWednesdayNoonS), 0U);
  pacer.refresh(paced);
  ScoreBatch batch(40);
  FeatureRows rows;
  size_t reserved = 0;
  const size_t before = allocations();
  for (uint64_t request = 0; request < 100; ++request) {
    const BudgetTime now{base::Instant(std::chrono::seconds(request)), kWednesdayNoonS};
    batch.clear();
    rows.begin(said.facts, kWednesdayNoonS);
    rows.begin_imp(said.facts.imps()[0]);
    for (uint32_t item = 0; item < 40; ++item) {
      const Campaign& campaign = catalog.campaign_of(catalog.items()[item]);
      FeatureRow* const row =
          batch.add(campaign.goal, expected_value(terms_of(campaign), 1).value_or(base::Cpm{}));
      rows.fill(catalog, {.item = item, .creative = item, .deal = Candidate::kNoDeal}, *row);
    }
    cascade.score(batch);
    for (uint32_t item = 0; item < 40; ++item) {
      const Campaign& campaign = catalog.campaign_of(catalog.items()[item]);
      const auto probability = batch.probability(item);
      if (!probability || pacer.admit(campaign.id, grant, now, request) != PaceVerdict::kBid) {
        continue;
      }
      const auto price = price_bid(terms_of(campaign), *probability, {}, {});
      if (!price) {
        continue;
      }
      auto held = grant.try_reserve(campaign.id, price->hold, now);
      if (held && held->submit(request * 40 + item, now.now)) {
        grant.settle(request * 40 + item, price->hold);
        ++reserved;
      }
    }
    grant.expire(now.now);
  }
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(reserved, 100U);
}

}  // namespace
}  // namespace spillway::bidder
