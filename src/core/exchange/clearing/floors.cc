#include "exchange/clearing/floors.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/decimal.h"
#include "base/money.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"

namespace spillway::exchange::clearing {

namespace {

std::optional<base::Cpm> in(const Floor& floor, const base::Currency& currency,
                            const Rates* rates) {
  if (floor.currency == currency) {
    return floor.price;
  }
  return rates == nullptr
             ? std::nullopt
             : rates->convert(floor.price, floor.currency, currency, base::Rounding::kUp);
}

}  // namespace

std::optional<base::Cpm> highest(std::span<const Floor> floors, const base::Currency& currency,
                                 const Rates* rates) {
  base::Cpm best;
  for (const Floor& floor : floors) {
    if (floor.price.micros <= 0) {
      continue;
    }
    const auto price = in(floor, currency, rates);
    if (!price) {
      return std::nullopt;
    }
    best = std::max(best, *price);
  }
  return best;
}

Floor announced(const Floor& imp, std::span<const Floor> others, const Rates* rates) {
  Floor told = imp;
  for (const Floor& other : others) {
    if (other.price.micros <= 0) {
      continue;
    }
    if (told.price.micros <= 0) {
      told = other;
    } else {
      told.price = std::max(told.price, in(other, told.currency, rates).value_or(told.price));
    }
  }
  return told;
}

}  // namespace spillway::exchange::clearing
