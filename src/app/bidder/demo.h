#pragma once

#include <string>

#include "bidder/model.h"

namespace spillway::app::bidding {

/// The configuration of `spillway bidder --demo`: loopback, one exchange "demo", nothing beside
/// this process but the catalog's file.
[[nodiscard]] std::string demo_config(const std::string& catalog);

/// The catalog of the demo: three advertisers, banners of common sizes, a video, one native, caps,
/// budgets and targeting of each kind that is easily seen at work.
[[nodiscard]] bidder::CatalogRows demo_catalog();

/// Writes that catalog to the store at `address`; empty, or what went wrong.
[[nodiscard]] std::string write_demo_catalog(const std::string& address, int64_t now_s);

}  // namespace spillway::app::bidding
