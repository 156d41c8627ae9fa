#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "bidder/catalog.h"
#include "bidder/in_flight.h"

namespace spillway::app::bidding {

/// Who is in flight now, and who will be next; null: nothing changes any more. Immutable; any
/// thread. Made ahead by threads that serve nobody, so that no request has to go over all line
/// items, neither the first under a new catalog nor the first of an hour.
using FlightTables = std::array<std::shared_ptr<const bidder::InFlight>, 2>;

[[nodiscard]] FlightTables flight_tables(const bidder::Catalog& catalog, int64_t unix_s);

/// Once the first table's time is over, or is not yet (a clock was set back), makes what is needed
/// anew. False: they still hold. `tables` are of this catalog.
[[nodiscard]] bool advance(FlightTables& tables, const bidder::Catalog& catalog, int64_t unix_s);

}  // namespace spillway::app::bidding
