#include "base/rates.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/decimal.h"
#include "base/money.h"

namespace spillway::base {

namespace {

__extension__ using Wide = unsigned __int128;  // The product of two prices of 63 bits.

constexpr int64_t kOneInBillionths = 1'000'000'000;

auto place_of(auto& rates, const Currency& currency) {
  return std::ranges::lower_bound(rates, currency, {}, [](const auto& rate) { return rate.first; });
}

}  // namespace

Rates::Rates(Currency base, int64_t as_of_ms, std::chrono::milliseconds stale_after)
    : as_of_ms_(as_of_ms), stale_after_ms_(stale_after.count()) {
  rates_.emplace_back(base, kOneInBillionths);
}

bool Rates::add(const Currency& currency, int64_t billionths) {
  const auto place = place_of(rates_, currency);
  if (billionths <= 0 || (place != rates_.end() && place->first == currency)) {
    return false;
  }
  rates_.emplace(place, currency, billionths);
  return true;
}

bool Rates::fresh(int64_t wall_ms) const {
  return !empty() && wall_ms <= as_of_ms_ + stale_after_ms_ &&
         wall_ms >= as_of_ms_ - stale_after_ms_;
}

int64_t Rates::billionths_of(const Currency& currency) const {
  const auto place = place_of(rates_, currency);
  return place != rates_.end() && place->first == currency ? place->second : 0;
}

std::optional<Cpm> Rates::convert(Cpm amount, const Currency& from, const Currency& to,
                                  Rounding rounding) const {
  if (from == to) {
    return amount;
  }
  const int64_t divisor = billionths_of(from);
  const int64_t factor = billionths_of(to);
  if (amount.micros < 0 || divisor == 0 || factor == 0) {
    return std::nullopt;
  }
  const Wide product = Wide{static_cast<uint64_t>(amount.micros)} * static_cast<uint64_t>(factor);
  const auto by = static_cast<uint64_t>(divisor);
  const Wide quotient = (product + (rounding == Rounding::kUp ? by - 1 : 0)) / by;
  if (quotient > static_cast<uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  return Cpm{static_cast<int64_t>(quotient)};
}

}  // namespace spillway::base
