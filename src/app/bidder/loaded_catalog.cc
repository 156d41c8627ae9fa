#include "app/bidder/loaded_catalog.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "app/bidder/flight_tables.h"
#include "base/decimal.h"
#include "base/money.h"
#include "base/rates.h"
#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/pacing/pacer.h"
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

/// The pacing of each campaign, by Catalog::campaigns(). Its flight is that of its line items, the
/// first to begin and the last to end, on its advertiser's wall.
std::vector<bidder::PacedCampaign> pacing_of(const bidder::Catalog& catalog) {
  using bidder::PacedCampaign;
  std::vector<PacedCampaign> paced;
  for (const auto& campaign : catalog.campaigns()) {
    paced.push_back({.campaign = campaign.id,
                     .pacing = campaign.pacing,
                     .begin_local_s = INT64_MAX,
                     .end_local_s = INT64_MIN});
  }
  for (const auto& item : catalog.items()) {
    auto& of = paced[item.campaign];
    of.begin_local_s = std::min(of.begin_local_s, item.start_s);
    of.end_local_s = std::max(of.end_local_s, item.end_s);
  }
  for (uint32_t i = 0; i < paced.size(); ++i) {
    auto& of = paced[i];
    const auto& zone = catalog.zone_of_advertiser(catalog.advertiser_of_campaign(i));
    const auto local = [&zone](int64_t unix_s, int64_t none) {
      const bool open = unix_s == INT64_MIN || unix_s == INT64_MAX;
      return open ? none : unix_s + zone.offset_s(unix_s);
    };
    of.begin_local_s = local(of.begin_local_s, PacedCampaign::kNoBegin);
    of.end_local_s = local(of.end_local_s, PacedCampaign::kNoEnd);
  }
  return paced;
}

}  // namespace

LoadedCatalog compile(const bidder::CatalogRows& rows, std::vector<bidder::TimeZone> zones,
                      uint64_t version, const base::Rates& rates, int64_t now_unix_s) {
  LoadedCatalog loaded;
  loaded.catalog = bidder::Catalog(rows, std::move(zones), version, worths_of(rows, rates));
  loaded.pacing = pacing_of(loaded.catalog);
  loaded.flights = flight_tables(loaded.catalog, now_unix_s);
  for (const auto& campaign : loaded.catalog.campaigns()) {
    loaded.terms.push_back(bidder::terms_of(campaign));
    loaded.budgets.push_back({.campaign = campaign.id,
                              .daily = base::money_of_micros(campaign.daily_micros),
                              .lifetime = base::money_of_micros(campaign.lifetime_micros)});
  }
  return loaded;
}

}  // namespace spillway::app::bidding
