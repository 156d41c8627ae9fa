#include "bidder/in_flight.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "bidder/catalog.h"
#include "bidder/targeting_index.h"
#include "bidder/time_zone.h"

namespace spillway::bidder {
namespace {

/// When the local hour of a zone ends.
int64_t hour_end_s(const TimeZone& zone, int64_t unix_s) {
  constexpr int64_t kHourS = 3600;
  const int64_t local_s = unix_s + zone.offset_s(unix_s);
  const int64_t into_s = ((local_s % kHourS) + kHourS) % kHourS;
  return std::min(unix_s + kHourS - into_s, zone.next_change_s(unix_s));
}

}  // namespace

void find_in_flight(const Catalog& catalog, int64_t unix_s, InFlight& out) {
  out.version = catalog.version();
  out.from_s = unix_s;
  int64_t until_s = std::numeric_limits<int64_t>::max();
  out.zone_hours.clear();
  for (const TimeZone& zone : catalog.zones()) {
    out.zone_hours.push_back(zone.hour_of_week(unix_s));
    until_s = std::min(until_s, hour_end_s(zone, unix_s));
  }
  out.bits.assign(catalog.index().words(), 0);
  const std::span<const Item> items = catalog.items();
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    if (unix_s < item.start_s) {
      until_s = std::min(until_s, item.start_s);
      continue;
    }
    if (unix_s >= item.end_s) {
      continue;
    }
    until_s = std::min(until_s, item.end_s);
    if (item.hours == Item::kAlways || catalog.hours(item.hours)[out.zone_hours[item.zone]]) {
      out.bits[i / 64] |= uint64_t{1} << (i % 64);
    }
  }
  out.until_s = until_s;
}

}  // namespace spillway::bidder
