#include "app/bidder/flight_tables.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "bidder/catalog.h"
#include "bidder/in_flight.h"

namespace spillway::app::bidding {
namespace {

std::shared_ptr<const bidder::InFlight> table_from(const bidder::Catalog& catalog, int64_t unix_s) {
  auto table = std::make_shared<bidder::InFlight>();
  bidder::find_in_flight(catalog, unix_s, *table);
  return table;
}

std::shared_ptr<const bidder::InFlight> next_of(const bidder::Catalog& catalog,
                                                const bidder::InFlight& table) {
  return table.until_s == std::numeric_limits<int64_t>::max() ? nullptr
                                                              : table_from(catalog, table.until_s);
}

}  // namespace

FlightTables flight_tables(const bidder::Catalog& catalog, int64_t unix_s) {
  auto now = table_from(catalog, unix_s);
  auto next = next_of(catalog, *now);
  return {std::move(now), std::move(next)};
}

bool advance(FlightTables& tables, const bidder::Catalog& catalog, int64_t unix_s) {
  const auto covers = [&](const auto& table) {
    return table != nullptr && table->covers(catalog.version(), unix_s);
  };
  if (covers(tables[0])) {
    return false;
  }
  if (covers(tables[1])) {
    tables[0] = std::move(tables[1]);
    tables[1] = next_of(catalog, *tables[0]);
  } else {
    tables = flight_tables(catalog, unix_s);
  }
  return true;
}

}  // namespace spillway::app::bidding
