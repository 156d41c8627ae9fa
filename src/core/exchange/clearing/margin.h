#pragma once

#include <cstdint>

#include "base/money.h"

namespace spillway::exchange::clearing {

/// The exchange's margin is a share of the price, in parts per million; at most kMarginMaxPpm.
inline constexpr uint32_t kMarginMaxPpm = 900'000;

/// All of a price.
inline constexpr uint32_t kWholePpm = 1'000'000;

/// What the publisher gets of a gross price: gross × (1 − margin), rounded down to whole micros.
/// Exact over all prices from 0; prices below 0 are not defined. Inverse of gross_of to the micro.
[[nodiscard]] base::Cpm net_of(base::Cpm gross, uint32_t margin_ppm);

/// The least gross price whose net is at least `net`; the largest price there is when that does not
/// fit.
[[nodiscard]] base::Cpm gross_of(base::Cpm net, uint32_t margin_ppm);

}  // namespace spillway::exchange::clearing
