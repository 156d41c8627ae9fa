#include "exchange/bid_macros.h"

#include <cstdint>
#include <string>

#include "base/decimal.h"
#include "exchange/call.h"
#include "exchange/clearing/bid.h"
#include "exchange/conclusion.h"
#include "openrtb/codes.h"
#include "openrtb/keys.h"
#include "openrtb/macros.h"

namespace spillway::exchange {

namespace {

using openrtb::Loss;

bool is_of_price(Loss loss) {
  return loss == Loss::kBelowFloor || loss == Loss::kBelowDealFloor || loss == Loss::kOutbid ||
         loss == Loss::kDealWon;
}

}  // namespace

void BidMacros::fill_common(const Conclusion& end, const clearing::Bid& bid) {
  const Call& call = *end.calls[bid.answer];
  price_.clear();
  mbr_.clear();
  min_to_win_.clear();
  imp_ts_ = std::to_string(end.start->wall_ms);
  ad_id_.clear();
  call.document.append_string(call.document.find(bid.node, openrtb::Key::adid), ad_id_);
  values_ = {.auction_id = call.request_id.empty() ? end.request->id : call.request_id,
             .bid_id = call.answer.bidid,
             .seat_id = bid.seat,
             .ad_id = ad_id_,
             .currency = bid.currency.view(),
             .multiplier = "1",
             .imp_ts = imp_ts_};
  values_.imp_id = bid.imp < end.request->imps.size() ? end.request->imps[bid.imp].id : bid.impid;
}

const openrtb::MacroValues& BidMacros::of_winner(const Conclusion& end, const clearing::Bid& bid) {
  fill_common(end, bid);
  const clearing::Cleared& cleared = end.cleared[bid.imp];
  base::append_micros(price_, cleared.gross.micros);
  if (bid.price.micros > 0) {
    // Six decimals are what a ratio is written with; a price too large for them has none.
    constexpr int64_t kLargest = INT64_MAX / 1'000'000;
    if (cleared.gross.micros <= kLargest) {
      base::append_micros(mbr_, cleared.gross.micros * 1'000'000 / bid.price.micros);
    }
  }
  if (cleared.min_to_win.micros > 0) {
    base::append_micros(min_to_win_, cleared.min_to_win.micros);
  }
  values_.price = price_;
  values_.mbr = mbr_;
  values_.loss = "0";
  values_.min_to_win = min_to_win_;
  return values_;
}

const openrtb::MacroValues& BidMacros::of_loser(const Conclusion& end, const clearing::Bid& bid) {
  fill_common(end, bid);
  const Loss loss = bid.loss == Loss::kWon ? Loss::kInvalidResponse : bid.loss;
  loss_ = std::to_string(static_cast<uint16_t>(loss));
  const clearing::Bid* winner = end.winner_of(bid.imp);
  if (winner != nullptr && is_of_price(loss) && winner->currency == bid.currency) {
    base::append_micros(min_to_win_, end.cleared[bid.imp].gross.micros);
  }
  values_.loss = loss_;
  values_.min_to_win = min_to_win_;
  return values_;
}

}  // namespace spillway::exchange
