#pragma once

#include <cstdint>
#include <vector>

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
};

/// Compiles rows. `version`: see Catalog. Off the request path.
[[nodiscard]] LoadedCatalog compile(const bidder::CatalogRows& rows,
                                    std::vector<bidder::TimeZone> zones, uint64_t version,
                                    const base::Rates& rates);

}  // namespace spillway::app::bidding
