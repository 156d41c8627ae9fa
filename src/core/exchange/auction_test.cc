#include "exchange/auction.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
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

TEST(Auction, TheHighestBidWinsAndIsAnsweredUnderItsSeat) {
  FakeMarket market;
  market.add("alpha", bids("1.5"));
  market.add("beta", bids("2.25"));
  const ReplyBytes& reply = market.run(request_json());
  EXPECT_EQ(reply.kind, ReplyKind::kBid);
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.json);
  EXPECT_TRUE(has(reply.body, R"("seat":"beta")"));
  EXPECT_FALSE(has(reply.body, "alpha"));
  EXPECT_TRUE(has(reply.body, R"("price":2.25)"));
  EXPECT_TRUE(has(reply.body, R"("cur":"USD")"));
  EXPECT_TRUE(has(reply.body, R"({"id":"r1",)"));
  EXPECT_EQ(market.non_bid(0).code, NonBid::kRejected);
  EXPECT_EQ(market.non_bid(0).loss, openrtb::Loss::kOutbid);
  EXPECT_EQ(market.non_bid(1).dsp, 999U);
}

TEST(Auction, ItEndsWhenAllAskedHaveAnswered) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.add("beta", answers_no_bid());
  market.run(request_json());
  EXPECT_EQ(market.finished_at, market.admitted_at() + milliseconds(20));
  EXPECT_LT(market.finished_at, market.auction.deadline());
  EXPECT_EQ(market.reply.kind, ReplyKind::kBid);
}

TEST(Auction, ASilentDspCostsOnlyItsOwnBid) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.add("beta", stays_silent());
  market.run(request_json());
  EXPECT_EQ(market.finished_at, market.auction.deadline());
  EXPECT_EQ(market.reply.kind, ReplyKind::kBid);
  EXPECT_EQ(market.non_bid(1).code, NonBid::kTimeout);
  EXPECT_FALSE(market.auction.report(1).answered);
}

TEST(Auction, SecondPriceIsTheRivalsBidAndAnIncrement) {
  FakeMarket market;
  market.add("alpha", bids("1.5"));
  market.add("beta", bids("2.25"));
  market.run(request_json(kBannerImp, R"(,"at":2)"));
  EXPECT_TRUE(has(market.reply.body, R"("price":1.51)")) << market.reply.body;
}

TEST(Auction, TheRequestsAtWinsOverTheAccounts) {
  FakeMarket market;
  market.snapshot.accounts[0].auction = 2;
  market.add("alpha", bids("1.5"));
  market.add("beta", bids("2.25"));
  market.run(request_json(kBannerImp, R"(,"at":1)"));
  EXPECT_TRUE(has(market.reply.body, R"("price":2.25)"));
  for (const std::string_view at : {"", R"(,"at":0)", R"(,"at":null)"}) {
    market.run(request_json(kBannerImp, at));
    EXPECT_TRUE(has(market.reply.body, R"("price":1.51)")) << at << market.reply.body;
    EXPECT_TRUE(has(market.seen["alpha/display"], R"("at":2)")) << market.seen["alpha/display"];
  }
}

TEST(Auction, TiesFallTheSameWayWhateverOrderTheAnswersCameIn) {
  FakeMarket market;
  for (const char* name : {"alpha", "beta", "gamma", "kappa"}) {
    market.add(name, bids("2"));
  }
  std::vector<uint32_t> winners;
  for (int round = 0; round < 8; ++round) {
    for (size_t i = 0; i < 4; ++i) {
      market.behaviour[i].after = milliseconds(10 + (i * 7 + static_cast<size_t>(round) * 5) % 20);
    }
    market.run(request_json());
    winners.push_back(market.auction.bids()[market.auction.cleared()[0].winner]->dsp);
    EXPECT_EQ(winners.back(), winners.front());
  }
  bool other = false;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    market.start.seed = seed;
    market.run(request_json());
    other = other || market.auction.bids()[market.auction.cleared()[0].winner]->dsp != winners[0];
  }
  EXPECT_TRUE(other);
}

TEST(Auction, NoBidIs204UnlessTheCallerNeedsABody) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.run(request_json());
  EXPECT_EQ(market.reply.status, 204);
  EXPECT_TRUE(market.reply.body.empty());
  EXPECT_FALSE(market.reply.json);
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);

  market.start.has_origin = true;
  market.run(request_json());
  EXPECT_EQ(market.reply.status, 200);
  EXPECT_EQ(market.reply.body, R"({"id":"r1","nbr":0})");

  market.start.has_origin = false;
  market.snapshot.accounts[0].no_bid_as_200 = true;
  market.run(request_json());
  EXPECT_EQ(market.reply.body, R"({"id":"r1","nbr":0})");

  market.snapshot.accounts[0].no_bid_as_200 = false;
  market.run(request_json(kBannerImp, R"(,"test":1)"));
  EXPECT_EQ(market.reply.status, 200);
  market.run(request_json(kBannerImp, R"(,"ext":{"debug":true})"));
  EXPECT_EQ(market.reply.status, 200);
}

TEST(Auction, DebugShowsAReasonForEveryDspAndImp) {
  FakeMarket market;
  market.add("alpha", bids("1.5"));
  market.add("beta", bids("2.25"));
  market.add("gamma", is_refused(520));
  market.add("kappa", answers_no_bid());
  market.run(request_json(kBannerImp, R"(,"test":1)"));
  EXPECT_TRUE(has(
      market.reply.body,
      R"("ext":{"warnings":[],"seatnonbid":[{"seat":"alpha","nonbid":[{"impid":"1","statuscode":300,"ext":{"loss":102}}]},)"
      R"({"seat":"gamma","nonbid":[{"impid":"1","statuscode":520}]},{"seat":"kappa","nonbid":[{"impid":"1","statuscode":0}]}]}})"))
      << market.reply.body;
}

TEST(Auction, TmaxAbsentOrZeroIsTheDefaultAndHugeIsClamped) {
  struct Row {
    std::string_view more;
    milliseconds tmax;
  };

  FakeMarket market;
  market.add("alpha", stays_silent());
  for (const Row& row : {Row{"", milliseconds(150)}, Row{R"(,"tmax":0)", milliseconds(150)},
                         Row{R"(,"tmax":300)", milliseconds(300)},
                         Row{R"(,"tmax":2000000000)", milliseconds(1000)}}) {
    market.run(request_json(kBannerImp, row.more));
    EXPECT_EQ(market.auction.deadline(), market.start.time_zero + row.tmax - milliseconds(5));
    EXPECT_EQ(market.auction.miss_after(), market.start.time_zero + row.tmax);
  }
}

TEST(Auction, AnnouncedTmaxIsWhatIsReallyLeftWithoutTheNetwork) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.run(request_json(kBannerImp, R"(,"tmax":120)"));
  // 120 - 5 margin - 0.35 ms spent, whole milliseconds.
  EXPECT_EQ(market.announced_ms["alpha/display"], 114);
  EXPECT_TRUE(has(market.seen["alpha/display"], R"("tmax":114)"));
  market.network_cost = milliseconds(30);
  market.run(request_json(kBannerImp, R"(,"tmax":120)"));
  EXPECT_EQ(market.announced_ms["alpha/display"], 84);
  market.network_cost = milliseconds(500);
  market.run(request_json(kBannerImp, R"(,"tmax":120)"));
  EXPECT_EQ(market.announced_ms["alpha/display"], 1);
}

TEST(Auction, TooLittleTimeAsksNobodyAndSaysSo) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.start.has_origin = true;
  market.run(request_json(kBannerImp, R"(,"tmax":14)"));
  EXPECT_TRUE(market.seen.empty());
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
  EXPECT_EQ(market.reply.nbr, NoBid::kInsufficientTime);
  EXPECT_EQ(market.reply.body, R"({"id":"r1","nbr":15})");
  EXPECT_EQ(market.non_bid(0).code, NonBid::kDeadlineTooShort);
  EXPECT_FALSE(market.record.finished);
}

TEST(Auction, EveryWayToFailHasItsSeatNonBidCode) {
  struct Row {
    FakeAnswer answer;
    NonBid code;
  };

  const Row rows[] = {
      {is_refused(520), NonBid::kCircuitOpen},
      {is_refused(521), NonBid::kConcurrency},
      {is_refused(522), NonBid::kQps},
      {is_refused(523), NonBid::kHostEjected},
      {is_refused(524), NonBid::kDeadlineTooShort},
      {is_refused(525), NonBid::kShed},
      {stays_silent(), NonBid::kTimeout},
      {fails(base::CallError::kTimeout, base::CallPhase::kBody), NonBid::kTimeout},
      {fails(base::CallError::kRefused), NonBid::kUnreachable},
      {fails(base::CallError::kReset, base::CallPhase::kFirstByte), NonBid::kUnreachable},
      {fails(base::CallError::kTls), NonBid::kUnreachable},
      {fails(base::CallError::kDns), NonBid::kUnreachable},
      {fails(base::CallError::kProtocol, base::CallPhase::kBody), NonBid::kInvalidResponse},
      {fails(base::CallError::kTooLarge, base::CallPhase::kBody), NonBid::kInvalidResponse},
      {fails(base::CallError::kNoConnection, base::CallPhase::kNotSent), NonBid::kConcurrency},
      {fails(base::CallError::kNoBudget, base::CallPhase::kNotSent), NonBid::kShed},
      {answers_status(500), NonBid::kError},
      {answers_status(404), NonBid::kError},
      {answers_status(302), NonBid::kError},
      {answers("<html>"), NonBid::kInvalidResponse},
      {answers(""), NonBid::kNoBid},
      {answers("{}"), NonBid::kNoBid},
      {answers_no_bid(), NonBid::kNoBid},
      {bids("0.1"), NonBid::kBelowFloor},
      {bids("1", "unknown"), NonBid::kRejected},
      {answers(response_json(bid_json("b", "1", "1", R"(,"w":1,"h":1)"))), NonBid::kCreativeSize},
  };
  for (const Row& row : rows) {
    FakeMarket market;
    market.add("alpha", row.answer);
    market.run(request_json(R"({"id":"1","banner":{"w":300,"h":250},"bidfloor":0.5})"));
    EXPECT_EQ(market.non_bid(0).code, row.code) << row.answer.body << row.answer.refusal;
    EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
  }
}

TEST(Auction, ABidOnAnImpTheDspWasNotAskedForLoses) {
  FakeMarket market;
  market.add("alpha", bids("9", "v")).endpoints[0].media =
      static_cast<uint8_t>(openrtb::MediaType::kBanner);
  market.run(request_json(
      R"({"id":"1","banner":{"w":300,"h":250}},{"id":"v","video":{"mimes":["video/mp4"]}})"));
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
  EXPECT_EQ(market.non_bid(0, 1).code, NonBid::kMediaType);
  EXPECT_FALSE(has(market.seen["alpha/display"], "video"));
}

TEST(Auction, ADspCannotBidUnderTheHouseSeat) {
  FakeMarket market;
  market.add("alpha", answers(R"({"id":"r1","seatbid":[{"seat":"house","bid":[)" +
                              bid_json("b", "1", "9") + "]}]}"));
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
  EXPECT_EQ(market.non_bid(0).loss, openrtb::Loss::kSeatBlocked);
}

TEST(Auction, ALateAnswerIsClassifiedAndChangesNothing) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.add("beta", stays_silent());
  const std::string before = market.run(request_json()).body;
  const openrtb::Padded body(bids("50").body);
  const base::Instant late = market.auction.deadline() + milliseconds(1);
  const auto result = market.result_of(bids("50"), late);
  EXPECT_EQ(market.auction.on_answer(late, 1, result, body.view()), resilience::Outcome::kOk);
  const openrtb::Padded junk("<junk>");
  EXPECT_EQ(market.auction.on_answer(late, 1, result, junk.view()),
            resilience::Outcome::kMalformed);
  EXPECT_EQ(market.auction.on_answer(late, 0, result, body.view()), resilience::Outcome::kOk);
  EXPECT_EQ(market.auction.reply().body, before);
  EXPECT_EQ(market.non_bid(1).code, NonBid::kTimeout);
  EXPECT_EQ(market.auction.bids().size(), 1U);
}

TEST(Auction, AnAnswerFromACandidateThatWasNotAskedIsIgnored) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.add("beta", is_refused(520));
  market.run(request_json());
  const openrtb::Padded body(bids("50").body);
  const auto result = market.result_of(bids("50"), market.finished_at);
  market.auction.on_answer(market.finished_at, 1, result, body.view());
  market.auction.on_answer(market.finished_at, 1000, result, body.view());
  EXPECT_EQ(market.auction.bids().size(), 1U);
  EXPECT_FALSE(market.auction.report(1).answered);
}

TEST(Auction, FortyImpsAreSoldSeparatelyAndTheRestIsDropped) {
  FakeMarket market;
  std::string imps;
  std::string bid_list;
  for (int i = 0; i < 45; ++i) {
    const std::string id = "i" + std::to_string(i);
    imps += (i == 0 ? "" : ",") + (R"({"id":")" + id + R"(","banner":{"w":300,"h":250}})");
    bid_list += (i == 0 ? "" : ",") + bid_json("b" + std::to_string(i), id, "1");
  }
  market.add("alpha", answers(response_json(bid_list)));
  market.run(request_json(imps));
  EXPECT_EQ(market.auction.request().imps.size(), 40U);
  EXPECT_TRUE(has(market.seen["alpha/display"], R"("id":"i39")"));
  EXPECT_FALSE(has(market.seen["alpha/display"], R"("id":"i40")"));
  EXPECT_TRUE(has(market.reply.body, R"("impid":"i39")"));
  EXPECT_FALSE(has(market.reply.body, R"("impid":"i40")"));
  EXPECT_EQ(market.auction.cleared().size(), 40U);
}

TEST(Auction, AReplyHasOneCurrency) {
  FakeMarket market;
  market.add("alpha", answers(response_json(bid_json("a", "1", "5"), R"(,"cur":"EUR")")));
  market.add("beta", bids("2"));
  market.run(request_json(kBannerImp, R"(,"cur":["USD","EUR"])"));
  EXPECT_TRUE(has(market.reply.body, R"("cur":"USD")")) << market.reply.body;
  EXPECT_TRUE(has(market.reply.body, R"("seat":"beta")"));
  EXPECT_EQ(market.non_bid(0).code, NonBid::kNoFxRate);
}

TEST(Auction, NobodyConfiguredIsAnsweredAtOnce) {
  FakeMarket market;
  market.run(request_json());
  EXPECT_EQ(market.reply.status, 204);
  EXPECT_FALSE(market.record.finished);
}

TEST(Auction, OneAuctionLeavesNothingBehindForTheNext) {
  FakeMarket market;
  market.add("alpha", bids("3"));
  market.add("beta", bids("2"));
  const std::string first = market.run(request_json()).body;
  market.behaviour[0] = is_refused(520);
  market.behaviour[1] = stays_silent();
  market.run(request_json());
  EXPECT_EQ(market.reply.kind, ReplyKind::kNoBid);
  EXPECT_TRUE(market.auction.bids().empty());
  market.behaviour[0] = bids("3");
  market.behaviour[1] = bids("2");
  EXPECT_EQ(market.run(request_json()).body, first);
}

}  // namespace
}  // namespace spillway::exchange
