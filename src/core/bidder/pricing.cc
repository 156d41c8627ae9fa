#include "bidder/pricing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "base/decimal.h"
#include "base/money.h"
#include "base/rates.h"
#include "base/result.h"
#include "bidder/model.h"

namespace spillway::bidder {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint32_t kWholePpm = 1'000'000;
constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);

int64_t saturated(Wide value) { return static_cast<int64_t>(std::min<Wide>(value, kMost)); }

/// What is left of what the advertiser pays; rounded down. Requires amount >= 0.
base::Cpm net_of(base::Cpm gross, uint32_t margin_ppm) {
  if (margin_ppm == 0) {
    return gross;
  }
  const Wide left = Wide{static_cast<uint64_t>(gross.micros)} * (kWholePpm - margin_ppm);
  return {saturated(left / kWholePpm)};
}

/// The least that the advertiser pays so that `net` is left; nullopt when it does not fit.
std::optional<base::Cpm> gross_of(base::Cpm net, uint32_t margin_ppm) {
  if (margin_ppm == 0) {
    return net;
  }
  const Wide divisor = kWholePpm - margin_ppm;
  const Wide gross = (Wide{static_cast<uint64_t>(net.micros)} * kWholePpm + divisor - 1) / divisor;
  return gross > kMost ? std::nullopt : std::optional(base::Cpm{static_cast<int64_t>(gross)});
}

base::Cpm shaded(const Shading& shading, base::Cpm value, base::Cpm floor) {
  if (shading.call == nullptr) {
    return value;
  }
  return std::clamp(shading.call(shading.context, {value, floor}), floor, value);
}

base::Cpm keep_surplus(const void* context, const ShadeQuestion& question) {
  const double keep = static_cast<const SurplusShade*>(context)->keep_ratio;
  const auto surplus = static_cast<double>(question.value.micros - question.floor.micros);
  const double kept = surplus * keep;
  // Floats beyond the surplus, and what is no number, change nothing.
  return kept >= 0 && kept < surplus ? base::Cpm{question.floor.micros + static_cast<int64_t>(kept)}
                                     : question.value;
}

}  // namespace

std::string_view to_string(PriceErrc error) {
  constexpr std::array<std::string_view, 4> kNames{"bad_probability", "worthless", "no_rate",
                                                   "below_floor"};
  return kNames[static_cast<size_t>(error)];
}

CampaignTerms terms_of(const Campaign& campaign) {
  const double ppm = std::ceil(campaign.margin_ratio * kWholePpm);
  return {.goal = campaign.goal,
          .goal_value_micros = campaign.goal_value_micros,
          .most = campaign.most,
          .margin_ppm = ppm > 0 ? static_cast<uint32_t>(std::min(ppm, kWholePpm - 1.0)) : 0,
          .currency = campaign.currency};
}

Shading SurplusShade::hook() const { return {&keep_surplus, this}; }

std::optional<base::Cpm> expected_value(const CampaignTerms& terms, double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    return std::nullopt;
  }
  if (terms.goal_value_micros <= 0) {
    return base::Cpm{0};
  }
  const auto goal_value = static_cast<uint64_t>(terms.goal_value_micros);
  if (terms.goal == Goal::kCpm) {
    return base::Cpm{terms.goal_value_micros};
  }
  // 63 bits × 1000 × 53 bits fit 128.
  constexpr int kBits = 53;
  const auto scaled = static_cast<uint64_t>(std::ldexp(probability, kBits));
  return base::Cpm{saturated((Wide{goal_value} * 1000 * scaled) >> kBits)};
}

base::Result<Price, PriceErrc> price_bid(const CampaignTerms& terms, double probability,
                                         const SaleTerms& sale, const base::Rates& rates,
                                         const Shading& shading) {
  const auto expected = expected_value(terms, probability);
  if (!expected) {
    return std::unexpected(PriceErrc::kBadProbability);
  }
  const base::Cpm own = std::min(net_of(*expected, terms.margin_ppm), terms.most);
  if (own.micros <= 0) {
    return std::unexpected(PriceErrc::kWorthless);
  }
  const auto value = rates.convert(own, terms.currency, sale.currency, base::Rounding::kDown);
  // A floor below 0 is none.
  const auto floor = rates.convert(std::max(sale.floor, base::Cpm{0}), sale.floor_currency,
                                   sale.currency, base::Rounding::kUp);
  if (!value || !floor) {
    return std::unexpected(PriceErrc::kNoRate);
  }
  if (*value < *floor) {
    return std::unexpected(PriceErrc::kBelowFloor);
  }
  Price price{.bid = *value, .value = *value, .floor = *floor, .hold = {}};
  if (sale.at == SaleTerms::At::kFixed) {
    price.bid = *floor;
  } else if (sale.at == SaleTerms::At::kFirst) {
    price.bid = shaded(shading, *value, *floor);
  }
  if (price.bid.micros <= 0) {
    return std::unexpected(PriceErrc::kWorthless);
  }
  const auto hold = charge_of(terms, price.bid, sale.currency, rates);
  if (!hold) {
    return std::unexpected(PriceErrc::kNoRate);
  }
  price.hold = *hold;
  return price;
}

std::optional<base::Money> charge_of(const CampaignTerms& terms, base::Cpm paid,
                                     const base::Currency& paid_in, const base::Rates& rates) {
  if (paid.micros < 0) {
    return std::nullopt;
  }
  const auto own = rates.convert(paid, paid_in, terms.currency, base::Rounding::kUp);
  if (!own) {
    return std::nullopt;
  }
  const auto gross = gross_of(*own, terms.margin_ppm);
  return gross ? std::optional(base::cost_of(*gross)) : std::nullopt;
}

}  // namespace spillway::bidder
