#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/money.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/margin.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange::clearing {

namespace {

using openrtb::Imp;
using openrtb::Loss;

/// Place of a currency in the request's list; the ones it does not name come last.
size_t rank_of(const openrtb::RequestView& request, const base::Currency& currency) {
  const auto& listed = request.currencies;
  return static_cast<size_t>(std::ranges::find(listed, currency) - listed.begin());
}

uint64_t tie_hash(uint64_t seed, const Imp& imp, const Bid& bid) {
  const uint64_t slot = base::combine64(base::hash64(imp.id, seed), base::hash64(bid.seat));
  return base::combine64(slot, base::hash64(bid.id));
}

/// A total order of the bids on one imp, whatever order they came in: less is better.
std::strong_ordering compare(const openrtb::RequestView& request, uint64_t seed, const Bid& a,
                             const Bid& b) {
  if (a.currency != b.currency) {
    const auto order = rank_of(request, a.currency) <=> rank_of(request, b.currency);
    return order != 0 ? order : a.currency <=> b.currency;
  }
  if (const auto order = b.worth() <=> a.worth(); order != 0) {
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

/// Of nets: what the publisher is due at second price.
base::Cpm second_price(const Rules& rules, const Bid& winner, base::Cpm second) {
  const int64_t own_micros = winner.net().micros;
  const int64_t base_micros = std::max(winner.floor, second).micros;
  const int64_t room_micros = std::max<int64_t>(0, own_micros - base_micros);
  const int64_t increment_micros = std::max<int64_t>(0, rules.increment_micros);
  return base::Cpm{own_micros - room_micros + std::min(room_micros, increment_micros)};
}

/// What the winner of an imp pays; `cleared.min_to_win` is the second bid's worth on the way in.
void settle(const Rules& rules, const Bid& winner, Cleared& cleared) {
  const int at = winner.at != 0 ? winner.at : rules.at;
  cleared.price = winner.worth();
  cleared.gross = winner.price;
  if (at == 2) {
    cleared.price = second_price(rules, winner, cleared.min_to_win);
  }
  if (at == 2 || at == Bid::kFixedPrice) {
    cleared.gross = gross_of(cleared.price, winner.margin_ppm);
  }
  cleared.min_to_win = winner.at == Bid::kFixedPrice
                           ? winner.floor
                           : gross_of(cleared.min_to_win, winner.margin_ppm);
}

}  // namespace

void clear(const openrtb::RequestView& request, const Rules& rules, std::vector<Bid*>& bids,
           std::vector<Cleared>& out) {
  out.assign(request.imps.size(), Cleared{});
  for (uint32_t i = 0; i < bids.size(); ++i) {
    if (!takes_part(request, *bids[i])) {
      continue;
    }
    uint32_t& winner = out[bids[i]->imp].winner;
    if (winner == Cleared::kNobody || compare(request, rules.seed, *bids[i], *bids[winner]) < 0) {
      winner = i;
    }
  }
  for (uint32_t i = 0; i < bids.size(); ++i) {
    Bid& bid = *bids[i];
    if (!takes_part(request, bid) || out[bid.imp].winner == i) {
      continue;
    }
    Cleared& cleared = out[bid.imp];
    if (bid.currency != bids[cleared.winner]->currency) {
      bid.loss = Loss::kNoFxRate;
      continue;
    }
    bid.loss = Loss::kOutbid;
    cleared.min_to_win = std::max(cleared.min_to_win, bid.worth());
  }
  for (Cleared& cleared : out) {
    if (cleared.winner != Cleared::kNobody) {
      settle(rules, *bids[cleared.winner], cleared);
    }
  }
}

}  // namespace spillway::exchange::clearing
