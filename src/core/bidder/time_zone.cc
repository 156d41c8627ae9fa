#include "bidder/time_zone.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace spillway::bidder {

int32_t TimeZone::offset_s(int64_t unix_s) const {
  if (changes.empty()) {
    return 0;
  }
  const auto after = std::ranges::upper_bound(changes, unix_s, {}, &Change::from_unix_s);
  return after == changes.begin() ? after->offset_s : (after - 1)->offset_s;
}

int64_t TimeZone::next_change_s(int64_t unix_s) const {
  const auto after = std::ranges::upper_bound(changes, unix_s, {}, &Change::from_unix_s);
  return after == changes.end() ? std::numeric_limits<int64_t>::max() : after->from_unix_s;
}

unsigned TimeZone::hour_of_week(int64_t unix_s) const {
  constexpr int64_t kWeekHours = 168;
  constexpr int64_t kHourS = 3600;
  constexpr int64_t kThursday = 72;  // 1970 began on a Thursday.
  const int64_t local_s = unix_s + offset_s(unix_s);
  const int64_t hours = local_s >= 0 ? local_s / kHourS : -((kHourS - 1 - local_s) / kHourS);
  const int64_t hour = (hours + kThursday) % kWeekHours;
  return static_cast<unsigned>(hour < 0 ? hour + kWeekHours : hour);
}

}  // namespace spillway::bidder
