#include "exchange/clearing/groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "exchange/clearing/bid.h"
#include "exchange/fake_market.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {
namespace {

using openrtb::Loss;

/// Bids on numbered imps, cleared.
struct Market {
  openrtb::RequestView request;
  std::vector<Bid> bids;
  std::vector<Bid*> pointers;
  std::vector<Cleared> cleared;

  explicit Market(size_t imps) {
    request.currencies.emplace_back();
    for (size_t i = 0; i < imps; ++i) {
      request.imps.emplace_back().id = std::to_string(i + 1);
    }
  }

  void add(uint32_t imp, int64_t micros, uint32_t group, uint32_t answer = 0) {
    Bid& bid = bids.emplace_back();
    bid.imp = imp;
    bid.price.micros = micros;
    bid.group = group;
    bid.answer = bid.dsp = answer;
    bid.id = "b" + std::to_string(bids.size());
    bid.node = static_cast<openrtb::NodeId>(bids.size());
    bid.seat = "s" + std::to_string(answer);
  }

  void run(const Rules& rules = {}) {
    pointers.clear();
    for (Bid& bid : bids) {
      pointers.push_back(&bid);
    }
    clear(request, rules, pointers, cleared);
  }

  [[nodiscard]] int64_t total_micros() const {
    int64_t sum = 0;
    for (const Cleared& imp : cleared) {
      sum += imp.winner == Cleared::kNobody ? 0 : bids[imp.winner].value.micros;
    }
    return sum;
  }
};

TEST(GroupsTest, AGroupThatIsWorthMoreTogetherWinsAllOfIt) {
  Market market(2);
  market.add(0, 5, 0, 1);
  market.add(0, 4, 1);
  market.add(1, 4, 1);
  market.run();
  EXPECT_EQ(market.cleared[0].winner, 1U) << "below the best single bid on its imp";
  EXPECT_EQ(market.cleared[1].winner, 2U);
  EXPECT_EQ(market.cleared[0].gross.micros, 4);
  EXPECT_EQ(market.cleared[0].min_to_win.micros, 4) << "what it gave was enough";
  EXPECT_EQ(market.bids[0].loss, Loss::kOutbid);
}

TEST(GroupsTest, AGroupThatIsWorthNoMoreLosesAllOfItAndMakesNoPrice) {
  Market market(2);
  market.add(0, 8, 0, 1);
  market.add(0, 4, 1);
  market.add(1, 4, 1);
  market.run({.at = 2, .increment_micros = 1});
  EXPECT_EQ(market.cleared[0].winner, 0U);
  EXPECT_EQ(market.cleared[1].winner, Cleared::kNobody);
  EXPECT_EQ(market.cleared[0].price.micros, 1) << "the increment: there was no other single bid";
  EXPECT_EQ(market.bids[1].loss, Loss::kOutbid);
  EXPECT_EQ(market.bids[2].loss, Loss::kOutbid);
}

TEST(GroupsTest, AGroupWithABidThatCannotWinIsLostWhole) {
  Market market(2);
  market.add(0, 4, 1);
  market.add(1, 4, 1);
  market.add(0, 3, 2);
  market.add(0, 3, 2);
  market.bids[1].loss = Loss::kBelowFloor;
  market.run();
  EXPECT_EQ(market.cleared[0].winner, Cleared::kNobody);
  EXPECT_EQ(market.bids[0].loss, Loss::kGroup);
  EXPECT_EQ(market.bids[1].loss, Loss::kBelowFloor) << "its own reason stays";
  EXPECT_EQ(market.bids[2].loss, Loss::kGroup) << "two of one group on one imp";
}

TEST(GroupsTest, BeyondTheBoundTheLeastGainsAreDropped) {
  Market market(kExactGroups + 2);
  for (uint32_t imp = 0; imp < kExactGroups + 2; ++imp) {
    market.add(imp, 10 + imp, imp + 1);
  }
  market.run();
  for (uint32_t imp = 0; imp < kExactGroups + 2; ++imp) {
    EXPECT_EQ(market.cleared[imp].winner == Cleared::kNobody, imp < 2) << imp;
    EXPECT_EQ(market.bids[imp].loss, imp < 2 ? Loss::kGroup : Loss::kWon) << imp;
  }
}

TEST(GroupsTest, ImpsBeyondTheSetsTakeNoPart) {
  Market market(kGroupImps + 1);
  market.add(0, 1, 1);
  market.add(kGroupImps, 1, 1);
  market.run();
  EXPECT_EQ(market.bids[0].loss, Loss::kGroup);
}

/// The greatest worth there is, by trying every set of groups.
int64_t brute_force_micros(const Market& market) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Bid*>> groups;
  for (const Bid& bid : market.bids) {
    if (bid.group != 0) {
      groups[{bid.answer, bid.group}].push_back(&bid);
    }
  }
  const std::vector<std::pair<std::pair<uint32_t, uint32_t>, std::vector<const Bid*>>> list(
      groups.begin(), groups.end());
  int64_t best = 0;
  for (uint64_t set = 0; set < uint64_t{1} << list.size(); ++set) {
    std::map<uint32_t, int64_t> by_imp;
    bool is_possible = true;
    for (size_t i = 0; i < list.size(); ++i) {
      for (const Bid* bid : list[i].second) {
        if ((set >> i & 1) != 0) {
          is_possible =
              is_possible && bid->valid() && by_imp.emplace(bid->imp, bid->price.micros).second;
        }
      }
    }
    const std::map<uint32_t, int64_t> taken = by_imp;
    for (const Bid& bid : market.bids) {
      if (bid.group == 0 && bid.valid() && !taken.contains(bid.imp)) {
        by_imp[bid.imp] = std::max(by_imp[bid.imp], bid.price.micros);
      }
    }
    int64_t sum = 0;
    for (const auto& [imp, micros] : by_imp) {
      sum += micros;
    }
    best = is_possible ? std::max(best, sum) : best;
  }
  return best;
}

Market random_market(base::Rng& rng) {
  const auto imps = 1 + rng.below(5);
  Market market(imps);
  for (uint64_t left = rng.below(16); left > 0; --left) {
    market.add(static_cast<uint32_t>(rng.below(imps)), static_cast<int64_t>(1 + rng.below(6)),
               static_cast<uint32_t>(rng.below(4)), static_cast<uint32_t>(rng.below(2)));
    market.bids.back().loss = rng.below(12) == 0 ? Loss::kSize : Loss::kWon;
  }
  return market;
}

void expect_all_or_none(const Market& market) {
  std::map<std::pair<uint32_t, uint32_t>, std::pair<size_t, size_t>> won;  // Of so many.
  for (size_t i = 0; i < market.bids.size(); ++i) {
    const Bid& bid = market.bids[i];
    const bool is_winner = market.cleared[bid.imp].winner == i;
    ASSERT_EQ(is_winner, bid.loss == Loss::kWon) << "every loser has its reason";
    if (bid.group != 0) {
      auto& [wins, all] = won[{bid.answer, bid.group}];
      wins += is_winner ? 1 : 0;
      ++all;
    }
  }
  for (const auto& [group, count] : won) {
    ASSERT_TRUE(count.first == 0 || count.first == count.second);
  }
}

TEST(GroupsTest, RandomMarketsAreWorthWhatTryingEverySetFindsInEveryOrder) {
  base::Rng rng(41);
  size_t groups_won = 0;
  for (int round = 0; round < 20'000; ++round) {
    Market market = random_market(rng);
    const int64_t best = brute_force_micros(market);
    Market other = market;
    const Rules rules{.at = 1 + static_cast<int>(rng.below(2)), .seed = rng.next()};
    for (size_t i = other.bids.size(); i > 1; --i) {
      std::swap(other.bids[i - 1], other.bids[rng.below(i)]);
    }
    market.run(rules);
    other.run(rules);
    ASSERT_EQ(market.total_micros(), best) << round;
    ASSERT_NO_FATAL_FAILURE(expect_all_or_none(market)) << round;
    for (size_t imp = 0; imp < market.cleared.size(); ++imp) {
      const uint32_t winner = market.cleared[imp].winner;
      ASSERT_EQ(winner == Cleared::kNobody, other.cleared[imp].winner == Cleared::kNobody);
      if (winner != Cleared::kNobody) {
        ASSERT_EQ(market.bids[winner].id, other.bids[other.cleared[imp].winner].id) << round;
        ASSERT_LE(market.cleared[imp].gross, market.bids[winner].price);
        groups_won += market.bids[winner].group != 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(groups_won, 1'000U);
}

TEST(GroupsTest, TheSearchIsExactOnAsManyGroupsAsItTakes) {
  base::Rng rng(43);
  for (int round = 0; round < 50; ++round) {
    std::vector<Group> groups(kExactGroups);
    for (Group& group : groups) {
      group.imps = rng.next() & rng.next() & rng.next() & 0xffff;
      group.gain = static_cast<Worth>(1 + rng.below(100));
    }
    Worth best = 0;
    for (uint64_t set = 0; set < uint64_t{1} << kExactGroups; ++set) {
      uint64_t imps = 0;
      Worth gain = 0;
      for (size_t i = 0; i < kExactGroups; ++i) {
        if ((set >> i & 1) != 0) {
          gain = (imps & groups[i].imps) != 0 ? -1'000'000 : gain + groups[i].gain;
          imps |= groups[i].imps;
        }
      }
      best = std::max(best, gain);
    }
    Worth found = 0;
    const uint64_t chosen = best_subset(groups);
    for (size_t i = 0; i < kExactGroups; ++i) {
      found += (chosen >> i & 1) != 0 ? groups[i].gain : 0;
    }
    ASSERT_TRUE(found == best) << round;
  }
}

TEST(GroupsTest, ASeatbidWithGroupWinsBothImpsOfAnAuctionOrNeither) {
  FakeMarket market;
  const std::string imps =
      R"({"id":"1","banner":{"w":300,"h":250}},{"id":"2","banner":{"w":300,"h":250},"bidfloor":1})";
  const auto roadblock = [](std::string_view second) {
    return answers(R"({"id":"r1","seatbid":[{"group":1,"bid":[)" + bid_json("a", "1", "2") + ',' +
                   bid_json("b", "2", second) + "]}]}");
  };
  market.add("alpha", roadblock("2"));
  market.add("beta", answers(response_json(bid_json("c", "1", "3"))));
  market.run(request_json(imps));
  EXPECT_NE(market.reply.body.find(R"("id":"a")"), std::string::npos) << market.reply.body;
  EXPECT_NE(market.reply.body.find(R"("id":"b")"), std::string::npos) << market.reply.body;

  FakeMarket below;
  below.add("alpha", roadblock("0.9"));
  below.add("beta", answers(response_json(bid_json("c", "1", "3"))));
  below.run(request_json(imps));
  EXPECT_EQ(below.auction.bids()[0]->loss, Loss::kGroup);
  EXPECT_EQ(below.auction.bids()[1]->loss, Loss::kBelowFloor);
  EXPECT_NE(below.reply.body.find(R"("id":"c")"), std::string::npos) << below.reply.body;
}

}  // namespace
}  // namespace spillway::exchange::clearing
