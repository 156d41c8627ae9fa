#pragma once

#include <optional>
#include <span>

#include "base/money.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"

namespace spillway::exchange::clearing {

/// The highest of some floors, in `currency`, rounded up; zero when none is above zero. nullopt
/// when one above zero has no rate to it (`rates` may be null).
[[nodiscard]] std::optional<base::Cpm> highest(std::span<const Floor> floors,
                                               const base::Currency& currency, const Rates* rates);

/// The floor to announce for an imp: the highest of its own and the operator's, in the imp's
/// currency when it has a floor, else in that of the first of the others. One without a rate to it
/// is left out: bids are held against it all the same.
[[nodiscard]] Floor announced(const Floor& imp, std::span<const Floor> others, const Rates* rates);

}  // namespace spillway::exchange::clearing
