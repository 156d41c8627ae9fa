#pragma once

#include <vector>

#include "exchange/conclusion.h"
#include "exchange/house.h"
#include "openrtb/codes.h"

namespace spillway::exchange {

/// Fills the imps that no DSP won, each as the account says for its case:
///
/// - degraded: a DSP that was eligible for the imp could not serve (partner_fault): on_degraded;
/// - shed: not degraded, and this exchange refused the work itself (shed level, refusal 525):
///   on_shed;
/// - no bid: everybody could, nobody did, or there was no time to ask: on_no_bid.
///
/// Imps are judged one by one, so a reply may hold bids, house ads and empty imps side by side.
/// `nbr` unknown becomes technical (1) when an imp stayed empty by a partner's fault.
void fill_empty_imps(const Conclusion& end, std::vector<HouseFill>& house, openrtb::NoBid& nbr);

}  // namespace spillway::exchange
