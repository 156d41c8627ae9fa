#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/money.h"
#include "base/rng.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/rates.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

constexpr base::Currency kEur{{'E', 'U', 'R'}};

openrtb::RequestView request_of(size_t imps) {
  openrtb::RequestView request;
  request.currencies = {base::Currency{}, kEur};
  for (size_t i = 0; i < imps; ++i) {
    openrtb::Imp imp;
    imp.id = std::to_string(i + 1);
    request.imps.push_back(imp);
  }
  return request;
}

Bid bid_of(const std::string& seat, const std::string& id, int64_t micros, uint32_t imp = 0) {
  Bid bid;
  bid.id = id;
  bid.seat = seat;
  bid.imp = imp;
  bid.price.micros = micros;
  return bid;
}

/// Some bids, cleared.
struct Round {
  openrtb::RequestView request;
  std::vector<Bid> bids;
  std::vector<Bid*> pointers;
  std::vector<Cleared> cleared;

  void run(const Rules& rules) {
    pointers.clear();
    for (Bid& bid : bids) {
      pointers.push_back(&bid);
    }
    clear(request, rules, pointers, cleared);
  }
};

Round spec_example() {
  Round c{.request = request_of(1),
          .bids = {bid_of("s", "low", 800'000), bid_of("t", "high", 1'000'000),
                   bid_of("u", "mid", 900'000)},
          .pointers = {},
          .cleared = {}};
  for (Bid& bid : c.bids) {
    bid.floor.micros = 850'000;
  }
  c.bids[0].loss = Loss::kBelowFloor;
  return c;
}

TEST(ClearTest, AFirstPriceAuctionChargesTheBidAndTellsTheRival) {
  Round c = spec_example();
  c.run({.at = 1});
  ASSERT_EQ(c.cleared.size(), 1U);
  EXPECT_EQ(c.cleared[0].winner, 1U);
  EXPECT_EQ(c.cleared[0].price.micros, 1'000'000);
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 900'000);
  EXPECT_EQ(c.bids[1].loss, Loss::kWon);
  EXPECT_EQ(c.bids[2].loss, Loss::kOutbid);
  EXPECT_EQ(c.bids[0].loss, Loss::kBelowFloor) << "earlier reasons stay";
}

TEST(ClearTest, ASecondPriceAuctionChargesTheSecondBidAndTheIncrement) {
  Round c = spec_example();
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].price.micros, 910'000);
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 900'000);
}

TEST(ClearTest, ASecondPriceNeverExceedsTheOwnBid) {
  Round c = spec_example();
  c.bids[2].price.micros = 995'000;
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].price.micros, 1'000'000);
  c = spec_example();
  c.bids[2].price.micros = 1'000'000;
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].price.micros, 1'000'000);
}

TEST(ClearTest, ALoneBidPaysTheFloorAndTheIncrementAtSecondPrice) {
  Round c = spec_example();
  c.bids.pop_back();
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].price.micros, 860'000);
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 0);
  c = spec_example();
  c.bids.pop_back();
  c.run({.at = 2, .increment_micros = 0});
  EXPECT_EQ(c.cleared[0].price.micros, 850'000);
}

TEST(ClearTest, WithoutAFloorALoneBidPaysTheIncrement) {
  Round c = spec_example();
  c.bids.erase(c.bids.begin() + 2);
  c.bids[1].floor.micros = 0;
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].price.micros, 10'000);
}

TEST(ClearTest, NoSeatMakesItsOwnPrice) {
  Round c{.request = request_of(1),
          .bids = {bid_of("s", "a", 1'000'000), bid_of("s", "b", 900'000),
                   bid_of("t", "c", 500'000), bid_of("s", "d", 700'000)},
          .pointers = {},
          .cleared = {}};
  c.bids[3].dsp = 1;  // Another DSP's seat of the same name is another buyer.
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].winner, 0U);
  EXPECT_EQ(c.cleared[0].price.micros, 710'000);
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 700'000);
  EXPECT_EQ(c.bids[1].loss, Loss::kOutbid);
  c.bids.resize(2);
  c.bids[0].loss = c.bids[1].loss = Loss::kWon;
  c.bids[0].floor.micros = 100'000;
  c.run({.at = 2});
  EXPECT_EQ(c.cleared[0].price.micros, 110'000) << "alone, whatever else its seat bid";
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 0);
}

TEST(ClearTest, EveryImpHasOneWinnerOfItsOwn) {
  Round c{.request = request_of(3),
          .bids = {bid_of("s", "a", 1, 2), bid_of("s", "b", 2, 0), bid_of("t", "c", 3, 2),
                   bid_of("t", "d", 9, Bid::kNoImp)},
          .pointers = {},
          .cleared = {}};
  c.run({});
  EXPECT_EQ(c.cleared[0].winner, 1U);
  EXPECT_EQ(c.cleared[1].winner, Cleared::kNobody);
  EXPECT_EQ(c.cleared[2].winner, 2U);
}

TEST(ClearTest, ADuplicateNeverWins) {
  Round c{.request = request_of(1),
          .bids = {bid_of("s", "a", 1), bid_of("s", "a", 2)},
          .pointers = {},
          .cleared = {}};
  c.bids[1].duplicate = true;
  c.run({});
  EXPECT_EQ(c.cleared[0].winner, 0U);
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 0);
}

TEST(ClearTest, WithoutARateABidInAnotherCurrencyIsLost) {
  Round c{.request = request_of(1),
          .bids = {bid_of("s", "a", 900), bid_of("s", "b", 1), bid_of("t", "c", 2)},
          .pointers = {},
          .cleared = {}};
  c.bids[0].currency = kEur;
  c.run({.at = 2, .increment_micros = 0});
  EXPECT_EQ(c.cleared[0].winner, 2U);
  EXPECT_EQ(c.cleared[0].price.micros, 1);
  EXPECT_EQ(c.bids[0].loss, Loss::kNoFxRate);
  EXPECT_EQ(c.bids[1].loss, Loss::kOutbid);
}

TEST(ClearTest, BidsInOtherCurrenciesAreComparedInTheReplys) {
  Rates rates(kEur, 0, std::chrono::milliseconds(1));
  ASSERT_TRUE(rates.add(base::Currency{}, 1'250'000'000));
  Round c{.request = request_of(1),
          .bids = {bid_of("s", "a", 1'000'000), bid_of("t", "b", 1'200'000)},
          .pointers = {},
          .cleared = {}};
  c.bids[0].currency = kEur;
  c.run({.at = 1, .rates = &rates});
  EXPECT_EQ(c.cleared[0].winner, 0U) << "a euro is a dollar and a quarter";
  EXPECT_EQ(c.cleared[0].price.micros, 1'250'000) << "the publisher's, in dollars";
  EXPECT_EQ(c.cleared[0].gross.micros, 1'000'000) << "the DSP's, in euros";
  EXPECT_EQ(c.cleared[0].min_to_win.micros, 960'000);
  c.bids[1].loss = Loss::kWon;
  c.run({.at = 2, .increment_micros = 10'000, .rates = &rates});
  EXPECT_EQ(c.cleared[0].gross.micros, 970'000) << "the increment is in the bid's currency";
  EXPECT_EQ(c.cleared[0].price.micros, 1'212'500);
}

TEST(ClearTest, TiesFallByTheSeedAndFairlyOverManySeeds) {
  int won_by_first = 0;
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    Round c{.request = request_of(1),
            .bids = {bid_of("s", "a", 5), bid_of("t", "b", 5)},
            .pointers = {},
            .cleared = {}};
    c.run({.seed = seed});
    const uint32_t winner = c.cleared[0].winner;
    for (Bid& bid : c.bids) {
      bid.loss = Loss::kWon;
    }
    c.run({.seed = seed});
    EXPECT_EQ(c.cleared[0].winner, winner);
    won_by_first += winner == 0 ? 1 : 0;
  }
  EXPECT_NEAR(won_by_first, 500, 80);
}

/// The same auction in the plainest words, one imp at a time, by sorting.
struct Expected {
  const Bid* winner = nullptr;
  int64_t price = 0;
  int64_t min_to_win = 0;
};

int64_t due_at_most(const Bid& bid) { return bid.at == 3 ? bid.floor.micros : bid.price.micros; }

Expected reference(const Round& c, const Rules& rules, uint32_t imp_index) {
  const openrtb::Imp& imp = c.request.imps[imp_index];
  std::vector<const Bid*> rivals;
  for (const Bid& bid : c.bids) {
    if (bid.imp == imp_index && bid.valid() && bid.currency == rules.currency) {
      rivals.push_back(&bid);
    }
  }
  if (rivals.empty()) {
    return {};
  }
  std::ranges::sort(rivals, {}, [&](const Bid* bid) {
    const uint64_t tie =
        base::combine64(base::combine64(base::hash64(imp.id, rules.seed), base::hash64(bid->seat)),
                        base::hash64(bid->id));
    return std::tuple(-due_at_most(*bid), tie, bid->seat, bid->id, bid->dsp, bid->answer,
                      bid->node);
  });
  const Bid& first = *rivals[0];
  const int64_t own = first.price.micros;
  const int64_t floor = first.floor.micros;
  if (first.at == 3) {
    return {.winner = &first, .price = floor, .min_to_win = floor};
  }
  const auto other = std::ranges::find_if(
      rivals, [&](const Bid* bid) { return bid->seat != first.seat || bid->dsp != first.dsp; });
  const int64_t second = other != rivals.end() ? due_at_most(**other) : 0;
  const int64_t charged = std::min(own, std::max(second, floor) + rules.increment_micros);
  const int at = first.at != 0 ? first.at : rules.at;
  return {.winner = &first, .price = at == 2 ? charged : own, .min_to_win = second};
}

Round random_auction(base::Rng& rng) {
  Round c{.request = request_of(1 + rng.below(4)), .bids = {}, .pointers = {}, .cleared = {}};
  const int64_t floor = static_cast<int64_t>(rng.below(3));
  const uint64_t count = rng.below(12);
  for (uint32_t i = 0; i < count; ++i) {
    Bid bid = bid_of("s" + std::to_string(rng.below(3)), "b" + std::to_string(rng.below(3)),
                     floor + 1 + static_cast<int64_t>(rng.below(4)),
                     static_cast<uint32_t>(rng.below(c.request.imps.size() + 1)));
    bid.floor.micros = floor;
    bid.at = static_cast<uint8_t>(rng.below(8) == 0 ? rng.below(4) : 0);
    bid.dsp = static_cast<uint32_t>(rng.below(2));
    bid.answer = bid.dsp;
    bid.node = i;
    bid.duplicate = rng.below(10) == 0;
    bid.loss = rng.below(8) == 0 ? Loss::kSize : Loss::kWon;
    bid.currency = floor == 0 && rng.below(4) == 0 ? kEur : base::Currency{};
    c.bids.push_back(bid);
  }
  return c;
}

void expect_reference(const Round& original, const Round& c, const Rules& rules) {
  for (uint32_t imp = 0; imp < c.request.imps.size(); ++imp) {
    const Expected expected = reference(original, rules, imp);
    const Cleared& cleared = c.cleared[imp];
    ASSERT_EQ(cleared.winner == Cleared::kNobody, expected.winner == nullptr);
    if (expected.winner != nullptr) {
      ASSERT_EQ(c.bids[cleared.winner].node, expected.winner->node);
      ASSERT_EQ(cleared.price.micros, expected.price);
      ASSERT_EQ(cleared.min_to_win.micros, expected.min_to_win);
    }
  }
  const auto still_valid = std::ranges::count_if(
      c.bids, [&c](const Bid& bid) { return bid.valid() && bid.imp < c.request.imps.size(); });
  const auto winners = std::ranges::count_if(
      c.cleared, [](const Cleared& one) { return one.winner != Cleared::kNobody; });
  ASSERT_EQ(still_valid, winners) << "every loser has its reason";
}

TEST(ClearTest, RandomAuctionsAgreeWithThePlainReferenceInEveryOrder) {
  base::Rng rng(20'26);
  for (int auction = 0; auction < 15'000; ++auction) {
    const Round original = random_auction(rng);
    const Rules rules{.at = 1 + static_cast<int>(rng.below(2)),
                      .increment_micros = static_cast<int64_t>(rng.below(3)),
                      .seed = rng.next()};
    Round c = original;
    for (size_t i = c.bids.size(); i > 1; --i) {
      std::swap(c.bids[i - 1], c.bids[rng.below(i)]);
    }
    c.run(rules);
    ASSERT_NO_FATAL_FAILURE(expect_reference(original, c, rules)) << auction;
  }
}

}  // namespace
}  // namespace spillway::exchange::clearing
