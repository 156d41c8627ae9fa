#include "exchange/auction_rules.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

using clearing::Bid;
using openrtb::Loss;

void refuse_strays(const Snapshot& snapshot, const Candidate& candidate, std::vector<Bid>& bids) {
  for (Bid& bid : bids) {
    if (!bid.valid()) {
      continue;
    }
    if (!std::ranges::binary_search(candidate.imps, bid.imp)) {
      bid.loss = Loss::kInvalidResponse;
    } else if (bid.seat == snapshot.house_seat) {
      bid.loss = Loss::kSeatBlocked;
    }
  }
}

namespace {

/// A caller that names no currency takes the one it set its floor in.
bool caller_takes(const openrtb::RequestView& request, const base::Currency& currency) {
  return !request.currencies_given ||
         std::ranges::find(request.currencies, currency) != request.currencies.end();
}

}  // namespace

base::Currency settle_currency(const openrtb::RequestView& request, std::span<Bid* const> bids,
                               const clearing::Rates* rates) {
  const auto first_valid = std::ranges::find_if(bids, &Bid::valid);
  if (first_valid == bids.end()) {
    for (const openrtb::Imp& imp : request.imps) {
      if (imp.floor.micros > 0 && caller_takes(request, imp.floor_currency)) {
        return imp.floor_currency;
      }
    }
    return request.currencies.empty() ? base::Currency{} : request.currencies.front();
  }
  const auto is_bid_in = [&](const base::Currency& currency) {
    return std::ranges::any_of(
        bids, [&](const Bid* bid) { return bid->valid() && bid->currency == currency; });
  };
  const base::Currency& first = (*first_valid)->currency;
  if (!request.currencies.empty() && first == request.currencies.front()) {
    return first;
  }
  const auto wanted = std::ranges::find_if(request.currencies, is_bid_in);
  if (wanted != request.currencies.end()) {
    return *wanted;
  }
  const bool convertible =
      rates != nullptr && !request.currencies.empty() &&
      rates->convert({1}, first, request.currencies.front(), base::Rounding::kDown);
  return convertible ? request.currencies.front() : first;
}

base::Duration clamped_tmax(const Timing& timing, base::Duration tmax) {
  return std::min(tmax > base::Duration::zero() ? tmax : timing.tmax_default, timing.tmax_max);
}

std::string_view to_string(ReplyKind kind) {
  switch (kind) {
    case ReplyKind::kBid:
      return "bid";
    case ReplyKind::kHouse:
      return "house";
    case ReplyKind::kNoBid:
      return "no_bid";
    case ReplyKind::kInvalid:
      return "invalid";
    case ReplyKind::kShed:
      return "shed";
    case ReplyKind::kUnsupported:
      return "unsupported";
  }
  return "";
}

}  // namespace spillway::exchange
