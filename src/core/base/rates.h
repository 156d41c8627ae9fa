#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/money.h"

namespace spillway::base {

/// What one unit of the base currency is in others, as of one moment. Immutable once built, shared
/// by all threads. At most one entry a currency; a few KiB.
class Rates {
 public:
  Rates() = default;

  /// `as_of_ms` since the epoch; `stale_after` from 1 ms.
  Rates(Currency base, int64_t as_of_ms, std::chrono::milliseconds stale_after);

  /// One unit of the base is `billionths` / 10^9 units of `currency`. False, and nothing is taken,
  /// when that is not above 0 or the currency has its rate (the base always has: 1).
  bool add(const Currency& currency, int64_t billionths);

  /// Whether there is a table that may be used at `wall_ms`: at most stale_after older or newer
  /// than its own time.
  [[nodiscard]] bool fresh(int64_t wall_ms) const;

  /// `amount` × rate(to) / rate(from), exact in integers and rounded once, to whole micros: bids
  /// kDown, floors kUp, so that rounding lets no bid pass a floor it is below. The same currency is
  /// the amount itself. nullopt when a rate is missing, the amount is negative or the result does
  /// not fit. Does not look at the time. Cost: two binary searches.
  [[nodiscard]] std::optional<Cpm> convert(Cpm amount, const Currency& from, const Currency& to,
                                           Rounding rounding) const;

  [[nodiscard]] bool empty() const { return rates_.empty(); }

  /// When they were so, in milliseconds since the epoch; 0 when empty.
  [[nodiscard]] int64_t as_of_ms() const { return as_of_ms_; }

 private:
  [[nodiscard]] int64_t billionths_of(const Currency& currency) const;

  int64_t as_of_ms_ = 0;
  int64_t stale_after_ms_ = 0;
  std::vector<std::pair<Currency, int64_t>> rates_;  ///< Sorted.
};

}  // namespace spillway::base
