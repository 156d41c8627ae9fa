#pragma once

#include <memory>
#include <optional>

#include "app/bidder/bidder_config.h"
#include "app/bidder/event_log.h"
#include "app/bidder/flight_tables.h"
#include "app/bidder/loaded_catalog.h"
#include "bidder/caps/cache.h"
#include "bidder/caps/recent.h"
#include "bidder/caps/table.h"
#include "bidder/notice.h"
#include "bidder/pacing/local_grant.h"
#include "bidder/pricing.h"
#include "bidder/scoring/model_set.h"

namespace spillway::app::bidding {

/// Under what requests are served until the next one. Immutable, shared by all workers.
struct Deployment {
  std::shared_ptr<const BidderConfig> config;
  std::shared_ptr<const LoadedCatalog> catalog;
  FlightTables flights;  ///< Of it.
  std::shared_ptr<const bidder::ModelSet> models;
  std::shared_ptr<const bidder::NoticeSigner> signer;  ///< Null: bids name no addresses.
  bidder::SurplusShade shade;
};

/// What all workers write to, and lives as long as the process.
struct Shared {
  explicit Shared(const BidderConfig& config)
      : caps(config.caps),
        grant(config.budget),
        recent(config.notices.recent, kRecentS),
        events(config.events, config.workers) {
    if (config.cap_cache.routing != bidder::caps::Routing::kNone) {
      cap_cache.emplace(config.cap_cache);
    }
  }

  static constexpr int64_t kRecentS = 24 * 3600;

  bidder::caps::CapTable caps;
  bidder::LocalGrant grant;
  bidder::caps::RecentImpressions recent;
  std::optional<bidder::caps::CapCache> cap_cache;
  bidder::GeoHook geo;
  EventLog events;
};

}  // namespace spillway::app::bidding
