#pragma once

#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// What a bid is judged by beyond its own answer: which imps its DSP was asked for, which seats are
/// reserved, what else is in the reply. Only valid bids change; each gets its loss reason.

/// A bid on an imp that this call did not carry is no answer to it: loss 3. A bid under the
/// exchange's own house seat would pass as a local ad: loss 104.
void refuse_strays(const Snapshot& snapshot, const Candidate& candidate,
                   std::vector<clearing::Bid>& bids);

/// A reply has one currency: the caller's most wanted one (order of request.cur) that any valid bid
/// is in; when there is none, the most wanted one that the first valid bid has a rate to, else that
/// bid's. Without valid bids: the first floor's currency among the imps that the caller takes (any,
/// when it names none), else the most wanted one. What has its floor in another currency is then
/// left empty of house ads. Bids in other currencies are converted, or lost, by clear(). `rates`
/// are fresh ones, or null.
[[nodiscard]] base::Currency settle_currency(const openrtb::RequestView& request,
                                             std::span<clearing::Bid* const> bids,
                                             const clearing::Rates* rates);

/// The time of a request that says `tmax`: the default for none, never more than the maximum.
[[nodiscard]] base::Duration clamped_tmax(const Timing& timing, base::Duration tmax);

}  // namespace spillway::exchange
