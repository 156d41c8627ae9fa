#pragma once

#include <cstdint>
#include <vector>

#include "app/bidder/flight_tables.h"
#include "base/rates.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pacing/pacer.h"
#include "bidder/pricing.h"
#include "bidder/time_zone.h"

namespace spillway::app::bidding {

/// A catalog that may serve, and what others make of it. Immutable; any thread.
struct LoadedCatalog {
  bidder::Catalog catalog;
  std::vector<bidder::CampaignTerms> terms;     ///< By Catalog::campaigns().
  std::vector<bidder::CampaignBudget> budgets;  ///< The same.
  std::vector<bidder::PacedCampaign> pacing;    ///< The same.
  FlightTables flights;                         ///< From when it was compiled on.
};

/// Compiles rows. `version`: see Catalog; `now_unix_s`: from when it is to serve. Off the request
/// path.
[[nodiscard]] LoadedCatalog compile(const bidder::CatalogRows& rows,
                                    std::vector<bidder::TimeZone> zones, uint64_t version,
                                    const base::Rates& rates, int64_t now_unix_s);

}  // namespace spillway::app::bidding
