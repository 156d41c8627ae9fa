#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/money.h"
#include "exchange/clearing/bid.h"
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

/// A total order of the bids on one imp, whatever order they came in: less is better.
std::strong_ordering compare(const openrtb::RequestView& request, uint64_t seed, const Bid& a,
                             const Bid& b) {
  if (const auto order = b.value <=> a.value; order != 0) {
    return order;
  }
  const Imp& imp = request.imps[a.imp];
  if (const auto order = tie_hash(seed, imp, a) <=> tie_hash(seed, imp, b); order != 0) {
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
  cleared.min_to_win = winner.gross(second);
  if (at == 2) {
    const base::Cpm due = second_price(rules, winner, second);
    cleared.gross = winner.gross(due);
    cleared.price = convert(rules, due, winner.currency, rules.currency, base::Rounding::kDown)
                        .value_or(winner.value);
  } else if (at == Bid::kFixedPrice) {
    cleared.gross = cleared.min_to_win = winner.floor;
  }
}

}  // namespace

void clear(const openrtb::RequestView& request, const Rules& rules, std::vector<Bid*>& bids,
           std::vector<Cleared>& out) {
  out.assign(request.imps.size(), Cleared{});
  for (uint32_t i = 0; i < bids.size(); ++i) {
    if (!takes_part(request, *bids[i])) {
      continue;
    }
    if (!evaluate(rules, *bids[i])) {
      bids[i]->loss = Loss::kNoFxRate;
      continue;
    }
    uint32_t& winner = out[bids[i]->imp].winner;
    if (winner == Cleared::kNobody || compare(request, rules.seed, *bids[i], *bids[winner]) < 0) {
      winner = i;
    }
  }
  for (uint32_t i = 0; i < bids.size(); ++i) {
    Bid& bid = *bids[i];
    if (takes_part(request, bid) && out[bid.imp].winner != i) {
      bid.loss = Loss::kOutbid;
      base::Cpm& second_value = out[bid.imp].min_to_win;
      second_value = std::max(second_value, bid.value);
    }
  }
  for (Cleared& cleared : out) {
    if (cleared.winner != Cleared::kNobody) {
      settle(rules, *bids[cleared.winner], cleared.min_to_win, cleared);
    }
  }
}

}  // namespace spillway::exchange::clearing
