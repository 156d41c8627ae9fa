#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/decimal.h"
#include "base/money.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/margin.h"
#include "exchange/clearing/rates.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

// Repeat a failure with the RC_PARAMS it prints.

namespace spillway::exchange {
namespace {

using clearing::Bid;
using clearing::Cleared;
using openrtb::Loss;

int below(int count) { return *rc::gen::inRange(0, count); }

std::string pick(const std::vector<std::string>& from) {
  return from[static_cast<size_t>(below(static_cast<int>(from.size())))];
}

/// From 0 to 3 in steps of a micro, a tenth or a whole: ties and exact floors are common.
std::string some_price() {
  const int64_t step_micros = *rc::gen::element<int64_t>(1, 100'000, 1'000'000);
  std::string out;
  base::append_micros(out, below(static_cast<int>(3'000'000 / step_micros) + 1) * step_micros);
  return out;
}

std::string some_deal(const std::string& id) {
  std::string out = R"({"id":")" + id + '"';
  out += below(2) == 0 ? R"(,"bidfloor":)" + some_price() : "";
  out += below(2) == 0 ? R"(,"at":)" + std::to_string(below(4)) : "";
  out += below(4) == 0 ? R"(,"wseat":["s1"])" : "";
  out += below(4) == 0 ? R"(,"wadomain":["good.example"])" : "";
  return out + '}';
}

std::string some_imp(const std::string& id) {
  std::string out = R"({"id":")" + id + R"(","banner":{"w":300,"h":250},"secure":1,"bidfloor":)";
  out += some_price();
  out += R"(,"pmp":{"private_auction":)" + std::to_string(below(4) == 0 ? 1 : 0);
  return out + R"(,"deals":[)" + some_deal("d1") + ',' + some_deal("d2") + "]}}";
}

std::string some_request() {
  std::string imps = some_imp("1");
  for (int i = 2; i <= 1 + below(3); ++i) {
    imps += ',' + some_imp(std::to_string(i));
  }
  return request_json(
      imps, R"(,"cur":["USD","EUR"],"badv":["bad.example"],"at":)" + std::to_string(1 + below(2)));
}

/// Mostly good, and wrong in every way now and then.
std::string some_bid() {
  std::string out = R"({"id":")" + pick({"a", "b", "c", "d", "e", "f", ""});
  out += R"(","impid":)" + pick({R"("1")", R"("1")", R"("2")", R"("3")", R"("9")", "null"});
  out += R"(,"price":)" + (below(12) == 0 ? pick({"-1", "\"1\"", "9e99", "null"}) : some_price());
  out += below(10) == 0 ? "" : R"(,"adm":"<b>ad</b>")";
  out += below(2) == 0 ? R"(,"dealid":)" + pick({R"("d1")", R"("d2")", R"("d9")", "7"}) : "";
  out += R"(,"adomain":[")" + pick({"good.example", "good.example", "bad.example"}) + "\"]";
  out += R"(,"w":)" + pick({"300", "300", "300", "301"}) + R"(,"h":250)";
  return out + '}';
}

struct Answer {
  std::string body;
  size_t bids = 0;
};

Answer some_answer() {
  Answer out{.body =
                 R"({"id":"r1","cur":)" + pick({R"("USD")", R"("USD")", R"("EUR")", R"("JPY")"})};
  out.body += R"(,"seatbid":[)";
  for (int seats = 1 + below(2); seats > 0; --seats) {
    out.body += R"({"seat":")" + pick({"s1", "s2", "house"}) + R"(","bid":[)";
    for (int bids = below(5); bids > 0; --bids, ++out.bids) {
      out.body += some_bid() + (bids > 1 ? "," : "");
    }
    out.body += seats > 1 ? "]}," : "]}";
  }
  out.body += "]}";
  return out;
}

/// Three DSPs that answer anything.
struct RandomMarket : FakeMarket {
  size_t sent = 0;

  RandomMarket() {
    for (const char* name : {"alpha", "beta", "gamma"}) {
      Answer answer = some_answer();
      sent += answer.bids;
      DspConfig& dsp = add(name, answers(std::move(answer.body)));
      dsp.checks.deal = *rc::gen::element(Check::kEnforce, Check::kWarn, Check::kSkip);
      dsp.checks.currency_from_request_only = below(4) != 0;
    }
    snapshot.accounts[0].price_margin_ppm = static_cast<uint32_t>(below(3) * 100'000);
    start.seed = static_cast<uint64_t>(below(1'000));
    if (below(2) == 0) {
      snapshot.rates = clearing::Rates({{'E', 'U', 'R'}}, start.wall_ms, std::chrono::hours(1));
      snapshot.rates.add({}, *rc::gen::inRange<int64_t>(1, 3'000'000'000));
    }
  }

  [[nodiscard]] bool is_winner(size_t bid) const {
    const auto of_imp = [&](const Cleared& imp) { return imp.winner == bid; };
    return std::ranges::any_of(auction.cleared(), of_imp);
  }
};

/// The floor by the words of the documentation, read from the request again.
int64_t floor_micros_of(const openrtb::RequestView& request, const Bid& bid) {
  const openrtb::Imp& imp = request.imps[bid.imp];
  for (const openrtb::Deal& deal : imp.deals) {
    if (deal.id == bid.deal_id && deal.floor_given) {
      return deal.floor.micros;
    }
  }
  return imp.floor.micros;
}

void every_bid_wins_or_has_its_reason() {
  RandomMarket market;
  market.run(some_request());
  const auto bids = market.auction.bids();
  RC_ASSERT(bids.size() == market.sent);
  for (size_t i = 0; i < bids.size(); ++i) {
    const bool is_refused = bids[i]->duplicate || bids[i]->loss != Loss::kWon;
    RC_ASSERT(market.is_winner(i) != is_refused);
    RC_ASSERT(!describe(bids[i]->loss).empty());
  }
}

void no_winner_is_below_its_floor_or_pays_more_than_it_bid() {
  RandomMarket market;
  market.run(some_request());
  const auto& request = market.auction.request();
  for (uint32_t imp = 0; imp < market.auction.cleared().size(); ++imp) {
    const Cleared& cleared = market.auction.cleared()[imp];
    if (cleared.winner == Cleared::kNobody) {
      continue;
    }
    const Bid& bid = *market.auction.bids()[cleared.winner];
    RC_ASSERT(bid.imp == imp);
    RC_ASSERT(cleared.gross <= bid.price);
    const base::Cpm paid = clearing::net_of(cleared.gross, bid.margin_ppm);
    const auto floor = market.snapshot.rates.convert({floor_micros_of(request, bid)}, {},
                                                     bid.currency, base::Rounding::kUp);
    RC_ASSERT(floor_micros_of(request, bid) == 0 || (floor && paid >= *floor));
    const bool is_converted = !market.reply.body.contains(bid.currency.view());
    RC_ASSERT(is_converted || cleared.price <= cleared.gross);
  }
}

void the_record_gives_the_same_reply() {
  RandomMarket market;
  market.run(some_request());
  Auction again;
  RC_ASSERT(replay(market.snapshot, market.record, again).body == market.reply.body);
}

void expect_holds(const char* name, void (*property)()) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(params.maxSuccess, 3'000);
  const rc::detail::TestMetadata metadata{.id = name, .description = name};
  const auto result = rc::detail::checkTestable([=] { property(); }, metadata, params);
  rc::detail::printResultMessage(result, std::cout);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << "seed " << params.seed;
}

TEST(ClearingProperties, EveryBidWinsOrHasItsReason) {
  expect_holds("every bid wins or has its reason", every_bid_wins_or_has_its_reason);
}

TEST(ClearingProperties, NoWinnerIsBelowItsFloorOrPaysMoreThanItBid) {
  expect_holds("no winner is below its floor",
               no_winner_is_below_its_floor_or_pays_more_than_it_bid);
}

TEST(ClearingProperties, TheRecordGivesTheSameReply) {
  expect_holds("the record gives the same reply", the_record_gives_the_same_reply);
}

}  // namespace
}  // namespace spillway::exchange
