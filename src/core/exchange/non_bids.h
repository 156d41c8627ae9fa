#pragma once

#include <string>
#include <vector>

#include "exchange/auction.h"
#include "exchange/conclusion.h"

namespace spillway::exchange {

/// A line for every (DSP, imp) of the configuration that did not win, in order of DSP, then imp.
///
/// The code is, in this order: why it was not routed (200, 202, 203); the guard's refusal (520 to
/// 525); how the call failed (100 to 103); the seatnonbid code of its best losing bid on the imp;
/// 300 with loss 3 when it only bid on imps it was not asked for; 0.
/// Cost: DSPs times imps plus bids; made on request only.
[[nodiscard]] std::vector<SeatNonBid> list_non_bids(const Conclusion& end);

/// ,"seatnonbid":[{"seat":dsp,"nonbid":[{"impid":..,"statuscode":..,"ext":{"loss":..}}]}]: one
/// entry a DSP, under the DSP's configured name; `ext.loss` where a bid lost. Source: IAB community
/// extension "Seat Non-Bid".
void append_seat_non_bids(std::string& out, const Conclusion& end,
                          const std::vector<SeatNonBid>& lines);

}  // namespace spillway::exchange
