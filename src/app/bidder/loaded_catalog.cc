#include "app/bidder/loaded_catalog.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rates.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/pricing.h"
#include "bidder/time_zone.h"

namespace spillway::app::bidding {
namespace {

// What a unit of each currency in use is worth in dollars, for the order of line items.
std::vector<bidder::Worth> worths_of(const bidder::CatalogRows& rows, const base::Rates& rates) {
  std::vector<bidder::Worth> worths;
  for (const auto& campaign : rows.campaigns) {
    bool known = false;
    for (const auto& worth : worths) {
      known = known || worth.currency == campaign.currency;
    }
    const base::Cpm unit{1'000'000};
    const auto dollars = rates.convert(unit, campaign.currency, {}, base::Rounding::kDown);
    if (!known && dollars) {
      worths.push_back({.currency = campaign.currency,
                        .units_ratio = static_cast<double>(dollars->micros) / 1e6});
    }
  }
  return worths;
}

}  // namespace

LoadedCatalog compile(const bidder::CatalogRows& rows, std::vector<bidder::TimeZone> zones,
                      uint64_t version, const base::Rates& rates) {
  LoadedCatalog loaded;
  loaded.catalog = bidder::Catalog(rows, std::move(zones), version, worths_of(rows, rates));
  for (const auto& campaign : loaded.catalog.campaigns()) {
    loaded.terms.push_back(bidder::terms_of(campaign));
    loaded.budgets.push_back({.campaign = campaign.id,
                              .daily = base::money_of_micros(campaign.daily_micros),
                              .lifetime = base::money_of_micros(campaign.lifetime_micros)});
    loaded.pacing.push_back({.campaign = campaign.id, .pacing = campaign.pacing});
  }
  return loaded;
}

}  // namespace spillway::app::bidding
