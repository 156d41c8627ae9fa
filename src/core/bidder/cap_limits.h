#pragma once

#include <cstdint>
#include <vector>

#include "bidder/caps/window.h"
#include "bidder/catalog.h"

namespace spillway::bidder {

/// Appends the limits that a bid of a campaign (by its index) with one of its creatives stands
/// under, in the order of the campaign's caps. The calendar is the advertiser's, at `unix_s`.
void append_limits(const Catalog& catalog, uint32_t campaign, int64_t creative, int64_t unix_s,
                   std::vector<caps::CapLimit>& out);

}  // namespace spillway::bidder
