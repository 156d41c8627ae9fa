#pragma once

#include <memory>
#include <string>

#include "adapters/catalog_source.h"
#include "app/bidder/bidder_config.h"
#include "bidder/model.h"

namespace spillway::app::bidding {

/// The configuration of `spillway bidder --demo`: loopback, one exchange "demo", nothing beside
/// this process.
[[nodiscard]] std::string demo_config(const std::string& catalog);

/// The catalog of the demo: three advertisers, banners of common sizes, a video, one native, caps,
/// budgets and targeting of each kind that is easily seen at work.
[[nodiscard]] bidder::CatalogRows demo_catalog();

/// A source that always says the same.
[[nodiscard]] std::unique_ptr<adapters::CatalogSource> fixed_catalog(bidder::CatalogRows rows);

}  // namespace spillway::app::bidding
