#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/shed_levels.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/padded.h"
#include "resilience/outcome.h"

namespace spillway::exchange {
namespace {

using openrtb::NoBid;
using openrtb::NonBid;
using std::chrono::milliseconds;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Auction, ShedBeforeTheWalkReadsNothing) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.start.shed = ShedLevels::all(2);
  market.run("no json at all");
  EXPECT_EQ(market.reply.kind, ReplyKind::kShed);
  EXPECT_EQ(market.reply.status, 204);
  EXPECT_EQ(market.reply.nbr, NoBid::kShed);
  market.start.has_origin = true;
  market.run("no json at all");
  EXPECT_EQ(market.reply.body, R"({"id":"","nbr":525})");
}

TEST(Auction, ShedAfterTheWalkServesWhatTheAccountSays) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.start.shed = ShedLevels::all(1);
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kShed);
  EXPECT_EQ(market.reply.status, 204);
  EXPECT_EQ(market.non_bid(0).code, NonBid::kShed);
  market.add_house();
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kHouse);
  market.snapshot.accounts[0].on_shed = Fallback::kPass;
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kShed);
  market.run("broken");
  EXPECT_EQ(market.reply.status, 400);
}

TEST(Auction, OfAClassThatIsShedAtOnceIsRefusedWhenItsAccountIsKnown) {
  using resilience::Criticality;
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.add_house();
  market.snapshot.accounts.push_back(market.snapshot.accounts[0]);
  market.snapshot.accounts[0].criticality = Criticality::kSheddable;
  market.snapshot.accounts[1].publisher = "vip";
  market.snapshot.accounts[1].criticality = Criticality::kCriticalPlus;
  market.start.shed.set(Criticality::kSheddable, 2);
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kShed);
  market.run(request_json(kBannerImp, R"(,"site":{"publisher":{"id":"vip"}})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kBid);
  EXPECT_EQ(market.auction.account().publisher, "vip");
  market.start.shed.set(Criticality::kCriticalPlus, 1);
  market.run(request_json(kBannerImp, R"(,"site":{"publisher":{"id":"vip"}})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kHouse);
}

TEST(Auction, WhatIsNoValidRequestIs400WithAFieldAndNobodyIsAsked) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  for (const std::string_view bad : {"", "{", "[]", "{}", R"({"id":"x"})", R"({"id":"x","imp":[]})",
                                     R"({"id":"x","imp":[{"id":"1","banner":{"w":-1,"h":2}}]})"}) {
    market.run(bad);
    EXPECT_EQ(market.reply.kind, ReplyKind::kInvalid) << bad;
    EXPECT_EQ(market.reply.status, 400);
    EXPECT_TRUE(has(market.reply.body, R"({"error":)")) << market.reply.body;
    EXPECT_TRUE(market.seen.empty());
    EXPECT_TRUE(market.auction.seat_non_bids().empty());
  }
}

TEST(Auction, ABodyOfAnotherKindIs415) {
  FakeMarket market;
  market.start.is_json = false;
  market.run(request_json());
  EXPECT_EQ(market.reply.status, 415);
  EXPECT_EQ(market.reply.kind, ReplyKind::kUnsupported);
}

}  // namespace
}  // namespace spillway::exchange
