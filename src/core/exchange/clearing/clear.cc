#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/money.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/groups.h"
#include "exchange/clearing/rates.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Imp;
using openrtb::Loss;

uint64_t tie_hash(uint64_t seed, const Imp& imp, const Bid& bid) {
  const uint64_t slot = base::combine64(base::hash64(imp.id, seed), base::hash64(bid.seat));
  return base::combine64(slot, base::hash64(bid.id));
}

/// A total order of bids, also across imps, whatever order they came in: less is better.
std::strong_ordering compare(const openrtb::RequestView& request, uint64_t seed, const Bid& a,
                             const Bid& b) {
  if (const auto order = b.value <=> a.value; order != 0) {
    return order;
  }
  const uint64_t of_a = tie_hash(seed, request.imps[a.imp], a);
  if (const auto order = of_a <=> tie_hash(seed, request.imps[b.imp], b); order != 0) {
    return order;
  }
  if (const auto order = a.seat <=> b.seat; order != 0) {
    return order;
  }
  if (const auto order = a.id <=> b.id; order != 0) {
    return order;
  }
  if (const auto order = a.dsp <=> b.dsp; order != 0) {
    return order;
  }
  const auto order = a.answer <=> b.answer;
  return order != 0 ? order : a.node <=> b.node;
}

bool takes_part(const openrtb::RequestView& request, const Bid& bid) {
  return bid.valid() && bid.imp < request.imps.size();
}

/// Exchange of amounts between a bid's currency and the reply's.
std::optional<base::Cpm> convert(const Rules& rules, base::Cpm amount, const base::Currency& from,
                                 const base::Currency& to, base::Rounding rounding) {
  if (from == to) {
    return amount;
  }
  return rules.rates == nullptr ? std::nullopt : rules.rates->convert(amount, from, to, rounding);
}

/// False when the bid cannot be compared with others.
bool evaluate(const Rules& rules, Bid& bid) {
  if (bid.currency == rules.currency) {
    bid.value = bid.worth();
    return true;
  }
  const auto value =
      convert(rules, bid.worth(), bid.currency, rules.currency, base::Rounding::kDown);
  bid.value = value.value_or(base::Cpm{});
  return value.has_value();
}

/// Of nets in the winner's currency: what the publisher is due at second price.
base::Cpm second_price(const Rules& rules, const Bid& winner, base::Cpm second) {
  const int64_t own_micros = winner.net().micros;
  const int64_t base_micros = std::max(winner.floor, second).micros;
  const int64_t room_micros = std::max<int64_t>(0, own_micros - base_micros);
  const int64_t increment_micros = std::max<int64_t>(0, rules.increment_micros);
  return base::Cpm{own_micros - room_micros + std::min(room_micros, increment_micros)};
}

/// What the winner of an imp pays, given the second bid's value.
void settle(const Rules& rules, const Bid& winner, base::Cpm second_value, Cleared& cleared) {
  const int at = winner.at != 0 ? winner.at : rules.at;
  // The winner has a rate, so this does too; its own bid bounds what does not fit.
  const base::Cpm second =
      convert(rules, second_value, rules.currency, winner.currency, base::Rounding::kUp)
          .value_or(winner.worth());
  cleared.price = winner.value;
  cleared.gross = winner.price;
  // A group may win an imp below the best single bid on it: what it gave is then enough.
  cleared.min_to_win = std::min(winner.gross(second), winner.price);
  if (at == 2) {
    const base::Cpm due = second_price(rules, winner, second);
    cleared.gross = winner.gross(due);
    cleared.price = convert(rules, due, winner.currency, rules.currency, base::Rounding::kDown)
                        .value_or(winner.value);
  } else if (at == Bid::kFixedPrice) {
    cleared.gross = cleared.min_to_win = winner.floor;
  }
}

/// Whether two bids are of one buyer: a price is made by others.
bool same_seat(const Bid& a, const Bid& b) { return a.dsp == b.dsp && a.seat == b.seat; }

/// One round of clearing.
class Round {
 public:
  Round(const openrtb::RequestView& request, const Rules& rules, std::vector<Bid*>& bids,
        std::vector<Cleared>& out)
      : request_(request), rules_(rules), bids_(bids), out_(out) {}

  void run() {
    bool any_group = false;
    for (uint32_t i = 0; i < bids_.size(); ++i) {
      Bid& bid = *bids_[i];
      any_group = any_group || bid.group != 0;
      if (!takes_part(request_, bid)) {
        continue;
      }
      if (!evaluate(rules_, bid)) {
        bid.loss = Loss::kNoFxRate;
      } else if (bid.group == 0) {
        uint32_t& winner = out_[bid.imp].winner;
        if (winner == Cleared::kNobody || before(i, winner)) {
          winner = i;
        }
      }
    }
    if (any_group) {
      place_groups();
    }
    for (uint32_t i = 0; i < bids_.size(); ++i) {
      lose(i);
    }
    for (Cleared& cleared : out_) {
      if (cleared.winner != Cleared::kNobody) {
        settle(rules_, *bids_[cleared.winner], cleared.min_to_win, cleared);
      }
    }
  }

 private:
  [[nodiscard]] bool before(uint32_t a, uint32_t b) const {
    return compare(request_, rules_.seed, *bids_[a], *bids_[b]) < 0;
  }

  /// A bid that takes part and did not win is outbid, and what it offered is what the winner is
  /// held to: when it is of another seat, and was to be had alone.
  void lose(uint32_t i) {
    Bid& bid = *bids_[i];
    if (!takes_part(request_, bid) || out_[bid.imp].winner == i) {
      return;
    }
    bid.loss = Loss::kOutbid;
    Cleared& cleared = out_[bid.imp];
    if (bid.group == 0 && !same_seat(bid, *bids_[cleared.winner])) {
      cleared.min_to_win = std::max(cleared.min_to_win, bid.value);
    }
  }

  /// Puts the groups that win in the place of the single bids they push out.
  void place_groups() {
    std::vector<Group> groups = whole_groups();
    std::erase_if(groups, [](const Group& group) { return group.gain <= 0; });
    std::ranges::sort(groups, [this](const Group& a, const Group& b) {
      return a.gain != b.gain ? a.gain > b.gain : before(a.members.front(), b.members.front());
    });
    for (size_t i = kExactGroups; i < groups.size(); ++i) {
      refuse(groups[i]);
    }
    groups.resize(std::min(groups.size(), kExactGroups));
    const uint64_t chosen = best_subset(groups);
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const uint32_t member : groups[i].members) {
        if ((chosen >> i & 1) != 0) {
          out_[bids_[member]->imp].winner = member;
        }
      }
    }
  }

  void refuse(const Group& group) {
    for (const uint32_t member : group.members) {
      Bid& bid = *bids_[member];
      bid.loss = bid.valid() ? Loss::kGroup : bid.loss;
    }
  }

  /// Groups all of whose bids could win, members best first; the bids of the others have lost.
  std::vector<Group> whole_groups() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < bids_.size(); ++i) {
      if (bids_[i]->group != 0) {
        order.push_back(i);
      }
    }
    const auto key = [this](uint32_t i) { return std::pair(bids_[i]->answer, bids_[i]->group); };
    std::ranges::sort(order, {}, key);
    std::vector<Group> groups;
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end = std::find_if(begin, order.end(),
                                    [&](uint32_t member) { return key(member) != key(*begin); });
      Group group;
      group.members.assign(begin, end);
      if (weigh(group)) {
        std::ranges::sort(group.members, [this](uint32_t a, uint32_t b) { return before(a, b); });
        groups.push_back(std::move(group));
      } else {
        refuse(group);
      }
      begin = end;
    }
    return groups;
  }

  /// False when the group cannot win as a whole.
  bool weigh(Group& group) const {
    for (const uint32_t member : group.members) {
      const Bid& bid = *bids_[member];
      if (!takes_part(request_, bid) || bid.imp >= kGroupImps || (group.imps >> bid.imp & 1) != 0) {
        return false;
      }
      const uint32_t single = out_[bid.imp].winner;
      group.imps |= uint64_t{1} << bid.imp;
      group.gain += bid.value.micros;
      group.gain -= single == Cleared::kNobody ? 0 : bids_[single]->value.micros;
    }
    return true;
  }

  const openrtb::RequestView& request_;
  const Rules& rules_;
  std::vector<Bid*>& bids_;
  std::vector<Cleared>& out_;
};

}  // namespace

void clear(const openrtb::RequestView& request, const Rules& rules, std::vector<Bid*>& bids,
           std::vector<Cleared>& out) {
  out.assign(request.imps.size(), Cleared{});
  Round(request, rules, bids, out).run();
}

}  // namespace spillway::exchange::clearing
