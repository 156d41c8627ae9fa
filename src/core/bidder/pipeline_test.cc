#include "bidder/pipeline.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/caps/segments.h"
#include "bidder/caps/user.h"
#include "bidder/caps/window.h"
#include "bidder/model.h"
#include "bidder/pipeline_fixture.h"
#include "bidder/stages.h"

namespace spillway::bidder {
namespace {

using namespace std::chrono_literals;
using testing::kNowS;
using testing::kUnit;
using testing::Market;
using testing::request;
using testing::Rows;

uint64_t dropped(const Market& market, DropReason why) {
  return market.stats.drops[static_cast<size_t>(why)].value();
}

uint64_t open_bids(const Market& market) { return market.grant.counts().open_bids; }

base::Money reserved(const Market& market, int64_t campaign) {
  return market.grant.balance(campaign, {.now = market.now, .local_s = kNowS}).open;
}

TEST(Pipeline, BidsTheDearestOfWhatMatches) {
  Rows rows;
  rows.campaign(1, 2.0);
  rows.campaign(2, 3.5);
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  ASSERT_EQ(pipeline.reason(), NoBidReason::kNone);
  EXPECT_EQ(pipeline.bids(), 1U);
  EXPECT_NE(pipeline.body().find(R"("price":3.5,)"), std::string::npos) << pipeline.body();
  EXPECT_NE(pipeline.body().find(R"("cid":"2")"), std::string::npos);
  EXPECT_EQ(dropped(market, DropReason::kOutranked), 1U);
  EXPECT_EQ(open_bids(market), 1U);
}

TEST(Pipeline, ReservesMoneyForTheChosenBidAlone) {
  Rows rows;
  for (int64_t id = 1; id <= 20; ++id) {
    rows.campaign(id, 1.0 + static_cast<double>(id) / 10).daily_micros = 100 * kUnit;
  }
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  for (int64_t id = 1; id < 20; ++id) {
    EXPECT_EQ(reserved(market, id).nanos, 0) << id;
  }
  EXPECT_EQ(reserved(market, 20).nanos, 3'000'000);  // 3 CPM, one impression
}

TEST(Pipeline, NeverBidsBelowTheFloor) {
  Rows rows;
  rows.campaign(1, 2.0);
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  std::string body = request();
  body.replace(body.find(R"("banner")"), 0, R"("bidfloor":2.000001,)");
  market.run(pipeline, body);
  EXPECT_EQ(pipeline.reason(), NoBidReason::kPriced);
  EXPECT_EQ(dropped(market, DropReason::kBelowFloor), 1U);
  body.replace(body.find("2.000001"), 8, "2.000000");
  market.run(pipeline, body);
  EXPECT_EQ(pipeline.bids(), 1U);
}

TEST(Pipeline, TwoImpsNeverTakeTheSameLastPlaceUnderACap) {
  Rows rows;
  rows.campaign(1, 2.0).caps = {{.window = CapWindow::kDay, .most = 1}};
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(2));
  EXPECT_EQ(pipeline.bids(), 1U);
  EXPECT_EQ(dropped(market, DropReason::kCapTaken), 1U);
}

TEST(Pipeline, OneLineItemTakesBothImpsWhereItsCapsAllow) {
  Rows rows;
  rows.campaign(1, 2.0).caps = {{.window = CapWindow::kDay, .most = 2}};
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(2));
  EXPECT_EQ(pipeline.bids(), 2U);
  market.run(pipeline, request(1));
  EXPECT_EQ(pipeline.reason(), NoBidReason::kCapped);
}

TEST(Pipeline, LooksFurtherWhenTheFirstCandidatesAreCapped) {
  Rows rows;
  for (int64_t id = 1; id <= 9; ++id) {
    rows.campaign(id, 10.0 - static_cast<double>(id)).caps = {{.most = id < 8 ? 0U : 5U}};
  }
  Market market(rows.rows());
  market.settings.candidates = 3;
  market.settings.contenders = 3;
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  EXPECT_EQ(pipeline.bids(), 1U);
  EXPECT_NE(pipeline.body().find(R"("cid":"8")"), std::string::npos) << pipeline.body();
  EXPECT_EQ(market.stats.rounds.value(), 2U);
}

TEST(Pipeline, WithoutAUserAStrictCampaignIsSilentAndAnOpenOneCounts) {
  Rows rows;
  rows.campaign(1, 3.0).caps = {{.most = 5}};
  auto& open = rows.campaign(2, 2.0);
  open.caps = {{.most = 5}};
  open.cap_failure = CapFailure::kOpen;
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(1, "", R"("id":"")"));
  ASSERT_EQ(pipeline.bids(), 1U);
  EXPECT_NE(pipeline.body().find(R"("cid":"2")"), std::string::npos);
  EXPECT_EQ(dropped(market, DropReason::kNoUser), 1U);
  EXPECT_EQ(market.stats.caps_skipped[static_cast<size_t>(CapSkip::kNoUser)].value(), 1U);
}

TEST(Pipeline, AsksForAllCountsOfARequestAtOnceAndEachOnce) {
  Rows rows;
  for (int64_t id = 1; id <= 5; ++id) {
    rows.campaign(id, 2.0).caps = {
        {.scope = CapScope::kCampaign, .window = CapWindow::kDay, .most = 9},
        {.scope = CapScope::kAdvertiser, .window = CapWindow::kHour, .most = 9}};
  }
  Market market(rows.rows());
  size_t keys = 0;
  std::vector<caps::CapCounts> none;
  market.counts = [&](const Ask& ask) {
    keys = ask.keys.size();
    none.resize(keys);
    return Market::Counts(none);
  };
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(3));
  EXPECT_EQ(market.asked, 1);
  EXPECT_EQ(keys, 6U);  // five campaigns, one advertiser
  EXPECT_EQ(pipeline.bids(), 3U);
}

TEST(Pipeline, WhatOthersHaveShownCounts) {
  Rows rows;
  rows.campaign(1, 3.0).caps = {{.most = 2}};
  Market market(rows.rows());
  std::vector<caps::CapCounts> shown(1);
  market.counts = [&](const Ask& ask) {
    shown[0].add(caps::bucket_at(ask.keys[0], kNowS), 1);
    return Market::Counts(shown);
  };
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(2));
  EXPECT_EQ(pipeline.bids(), 1U);  // one was shown elsewhere, so one place is left
}

TEST(Pipeline, UnreadCountsSilenceTheStrictAndAreCountedForTheOpen) {
  Rows rows;
  rows.campaign(1, 3.0).caps = {{.most = 5}};
  auto& open = rows.campaign(2, 2.0);
  open.caps = {{.most = 5}};
  open.cap_failure = CapFailure::kOpen;
  Market market(rows.rows());
  market.counts = [](const Ask&) { return Market::Counts(); };
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  EXPECT_NE(pipeline.body().find(R"("cid":"2")"), std::string::npos);
  EXPECT_EQ(dropped(market, DropReason::kCapsUnread), 1U);
  EXPECT_EQ(market.stats.caps_unread.value(), 1U);
  EXPECT_EQ(market.stats.caps_skipped[static_cast<size_t>(CapSkip::kUnread)].value(), 1U);
}

TEST(Pipeline, SegmentsThatCannotBeReadNarrowAndNeverWiden) {
  Rows rows;
  rows.campaign(1, 3.0);
  rows.rows().line_items[0].targeting.of(Dimension::kSegment).include = {"7"};
  rows.campaign(2, 2.0);
  rows.rows().line_items[1].targeting.of(Dimension::kSegment).exclude = {"8"};
  rows.campaign(3, 1.0);
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  const auto bids = [&](caps::Segments said) {
    market.segments = [said](const Ask&) { return said; };
    market.run(pipeline, request());
    const size_t at = pipeline.body().find(R"("cid":")");
    return at == std::string::npos ? std::string() : pipeline.body().substr(at + 7, 1);
  };
  using caps::SegmentState;
  EXPECT_EQ(bids({.state = SegmentState::kKnown, .ids = "7\n8"}), "1");
  EXPECT_EQ(bids({.state = SegmentState::kKnown, .ids = "9"}), "2");
  EXPECT_EQ(bids({.state = SegmentState::kKnown, .ids = ""}), "2");
  EXPECT_EQ(bids({.state = SegmentState::kNoSuchUser, .ids = ""}), "3");
  EXPECT_EQ(bids({.state = SegmentState::kCouldNotAsk, .ids = ""}), "3");
}

TEST(Pipeline, GivesEverythingBackWhereverARequestEnds) {
  Rows rows;
  auto& campaign = rows.campaign(1, 3.0);
  campaign.caps = {{.most = 2}};
  campaign.daily_micros = 100 * kUnit;
  Market market(rows.rows());
  const auto user = caps::hash_user("x", "u");
  for (int steps = 0; steps < 14; ++steps) {
    Pipeline pipeline(market.stats);
    market.begin(pipeline, request(2));
    for (int i = 0; i < steps; ++i) {
      if (pipeline.step(market.now) == Pipeline::Next::kDone) {
        break;
      }
    }
    const bool sent = pipeline.bids() > 0 && !pipeline.body().empty();
    if (!sent) {
      pipeline.abandon();
      EXPECT_EQ(reserved(market, 1).nanos, 0) << steps;
      const caps::CapKey key{.scope = CapScope::kCampaign, .window = CapWindow::kDay, .id = 1};
      EXPECT_EQ(market.caps.view(*user, key, kNowS).pending, 0U) << steps;
      continue;
    }
    EXPECT_EQ(reserved(market, 1).nanos, 6'000'000);
    return;
  }
  FAIL() << "no request came to its end";
}

TEST(Pipeline, OutOfTimeItSaysSoAndHoldsNothing) {
  Rows rows;
  rows.campaign(1, 3.0);
  Market market(rows.rows());
  market.settings.deadline = 1ms;
  market.step_takes = 300us;
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  EXPECT_EQ(pipeline.reason(), NoBidReason::kDeadline);
  EXPECT_TRUE(pipeline.body().empty());
  EXPECT_EQ(reserved(market, 1).nanos, 0);
}

TEST(Pipeline, TmaxLessTheMarginBoundsTheDeadline) {
  Rows rows;
  rows.campaign(1, 3.0);
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  const auto began = market.now;
  std::string body = request();
  body.replace(body.find("200"), 3, "25");
  market.run(pipeline, body);
  EXPECT_EQ(pipeline.deadline() - began, 15ms);
  EXPECT_EQ(pipeline.tmax_at() - began, 25ms);
  market.settings.deadline = 12ms;
  const auto again = market.now;
  market.run(pipeline, body);
  EXPECT_EQ(pipeline.deadline() - again, 12ms);
}

TEST(Pipeline, ShedAndSeatAndBadRequestsEndEarly) {
  Rows rows;
  rows.campaign(1, 3.0);
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.shed = true;
  market.run(pipeline, request());
  EXPECT_EQ(pipeline.reason(), NoBidReason::kShed);
  market.shed = false;
  market.run(pipeline, request(1, R"(,"wseat":["other"])"));
  EXPECT_EQ(pipeline.reason(), NoBidReason::kSeatBlocked);
  market.run(pipeline, request(1, R"(,"bseat":["s"])"));
  EXPECT_EQ(pipeline.reason(), NoBidReason::kSeatBlocked);
  market.run(pipeline, request(1, R"(,"regs":{"dsa":{"dsarequired":2}})"));
  EXPECT_EQ(pipeline.reason(), NoBidReason::kTransparency);
  market.run(pipeline, request(1, R"(,"regs":{"ext":{"dsa":{"dsarequired":1}}})"));
  EXPECT_EQ(pipeline.bids(), 1U);
  market.run(pipeline, R"({"id":"r","imp":[]})");
  EXPECT_EQ(pipeline.reason(), NoBidReason::kInvalid);
  EXPECT_EQ(pipeline.error().path, "imp");
  market.run(pipeline, "{");
  EXPECT_EQ(pipeline.reason(), NoBidReason::kInvalid);
}

TEST(Pipeline, ExplainsTheRequestThatAsksForItAndNotTheNext) {
  Rows rows;
  rows.campaign(1, 4);
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  market.run(pipeline, request(1, R"(,"ext":{"debug":true},"badv":["shop.example"])"));
  EXPECT_NE(pipeline.body().find("explain"), std::string::npos);
  market.run(pipeline, request(1, R"(,"badv":["shop.example"])"));
  EXPECT_EQ(pipeline.reason(), NoBidReason::kNoCandidate);
  EXPECT_EQ(pipeline.body(), "");
}

TEST(Pipeline, TheSameInputsGiveTheSameBytes) {
  Rows rows;
  for (int64_t id = 1; id <= 30; ++id) {
    rows.campaign(id, 2.0).caps = {{.most = 3}};
  }
  std::vector<std::string> first;
  for (int run = 0; run < 2; ++run) {
    Market market(rows.rows());
    Pipeline pipeline(market.stats);
    for (int i = 0; i < 40; ++i) {
      market.run(pipeline, request(3, R"(,"test":1)"));
      if (run == 0) {
        first.push_back(pipeline.body());
      } else {
        ASSERT_EQ(pipeline.body(), first[static_cast<size_t>(i)]) << i;
      }
    }
  }
}

TEST(Pipeline, ATestHoldsNeitherMoneyNorPlaces) {
  Rows rows;
  auto& campaign = rows.campaign(1, 3.0);
  campaign.caps = {{.most = 1}};
  campaign.daily_micros = 100 * kUnit;
  Market market(rows.rows());
  Pipeline pipeline(market.stats);
  for (int i = 0; i < 5; ++i) {
    market.run(pipeline, request(1, R"(,"test":1)"));
    ASSERT_EQ(pipeline.bids(), 1U);
    EXPECT_NE(pipeline.body().find(R"("explain":{"reason":"none")"), std::string::npos);
  }
  EXPECT_EQ(reserved(market, 1).nanos, 0);
}

TEST(Pipeline, TimesEveryStageOnceAndCountsWhatIsOverItsBudget) {
  Rows rows;
  rows.campaign(1, 3.0);
  Market market(rows.rows());
  market.step_takes = 1500us;
  Pipeline pipeline(market.stats);
  market.run(pipeline, request());
  ASSERT_EQ(pipeline.bids(), 1U);
  for (size_t i = 0; i < kStages; ++i) {
    EXPECT_EQ(market.stats.times[i].total(), 1U) << i;
  }
  EXPECT_EQ(market.stats.over_budget[static_cast<size_t>(Stage::kPrice)].value(), 1U);
  EXPECT_EQ(market.stats.over_budget[static_cast<size_t>(Stage::kEnrich)].value(), 0U);
}

}  // namespace
}  // namespace spillway::bidder
