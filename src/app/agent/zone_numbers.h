#pragma once

#include <cstdint>

#include "base/time.h"
#include "capacity/law.h"
#include "capacity/zone_view.h"

namespace spillway::app::agent {

/// What one server can say of its zone, itself included.
struct ZoneNumbers {
  uint32_t known = 0;       ///< Servers whose sample is kept, live or not, of any zone.
  uint32_t live = 0;        ///< Live ones of the zone that take traffic, itself included.
  double spread_ratio = 0;  ///< Highest less lowest utilization.
  uint32_t saturated = 0;   ///< Above kSaturated.
  double capacity = 0;      ///< Sum of the known ones: requests a second at full use.
  double demand_ratio = 0;  ///< Requests a second that came, of `capacity`; 0: unknown. Above 1
                            ///< nobody can serve them, which mean CPU could not say.
  double share_ratio = 0;   ///< Of the zone's weights, this server's.
};

inline constexpr double kSaturated = 0.95;

/// One pass over the view.
[[nodiscard]] ZoneNumbers zone_numbers(const capacity::ZoneView& view, base::Instant now,
                                       const capacity::Decision& own);

}  // namespace spillway::app::agent
