#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/money.h"
#include "base/rates.h"
#include "base/result.h"
#include "bidder/model.h"

namespace spillway::bidder {

/// How a campaign pays, compiled from its row.
struct CampaignTerms {
  Goal goal = Goal::kCpm;
  int64_t goal_value_micros = 0;  ///< As Campaign says; what is not above 0 is worth nothing.
  base::Cpm most = {};            ///< Never bid more.
  uint32_t margin_ppm = 0;        ///< Of what the advertiser pays, kept; below a million.
  base::Currency currency = {};   ///< Of all three, and of the budget.
};

/// Of a checked row; its margin is rounded up to a whole part per million.
[[nodiscard]] CampaignTerms terms_of(const Campaign& campaign);

/// How the impression is sold: by its deal when the bid is for one, else by the imp.
struct SaleTerms {
  enum class At : uint8_t { kFirst = 1, kSecond = 2, kFixed = 3 };

  base::Cpm floor = {};  ///< Of kFixed: the price agreed.
  base::Currency floor_currency = {};
  base::Currency currency = {};  ///< The bid's: one that the request accepts.
  At at = At::kSecond;
};

enum class PriceErrc : uint8_t {
  kBadProbability,  ///< Not in [0, 1], NaN included.
  kWorthless,       ///< It comes to no price above 0.
  kNoRate,          ///< No rate between the currencies, or the result does not fit.
  kBelowFloor,
};

[[nodiscard]] std::string_view to_string(PriceErrc error);

/// What a shading hook is asked, in the bid's currency.
struct ShadeQuestion {
  base::Cpm value;  ///< What the impression is worth to us at most.
  base::Cpm floor;
};

/// A hook that lowers bids of first-price sales. Its answer is moved into [floor, value], so that
/// it can cost a bid nothing but surplus. It must not block, and lives as long as it is used.
struct Shading {
  using Call = base::Cpm (*)(const void* context, const ShadeQuestion& question);

  Call call = nullptr;  ///< Null: bids are what the impression is worth.
  const void* context = nullptr;
};

/// The simplest hook: the floor plus a share of what the value is above it.
struct SurplusShade {
  double keep_ratio = 1;  ///< [0, 1].

  [[nodiscard]] Shading hook() const;
};

/// A price, in the bid's currency unless it says otherwise.
struct Price {
  base::Cpm bid;
  base::Cpm value;   ///< Unshaded: what `bid` would be without the hook.
  base::Cpm floor;   ///< Rounded up.
  base::Money hold;  ///< The most that the advertiser pays for the impression; its own currency.
};

/// What a thousand such impressions are worth to the advertiser, in its currency: goal value
/// (CPM), or probability × goal value × 1000 (CPC, CPA). Exact over the bits of `probability`,
/// rounded down; the largest price there is when it does not fit. nullopt: not a probability.
[[nodiscard]] std::optional<base::Cpm> expected_value(const CampaignTerms& terms,
                                                      double probability);

/// The price of a bid: expected value less the margin, at most `most`, in the bid's currency, all
/// rounded down, against a floor rounded up. A bid equal to its floor passes. First price: shaded.
/// Second price: the value itself. Fixed price: exactly the price agreed. Never below the floor,
/// never above the campaign's maximum. Pure integers; about 20 ns without conversion.
[[nodiscard]] base::Result<Price, PriceErrc> price_bid(const CampaignTerms& terms,
                                                       double probability, const SaleTerms& sale,
                                                       const base::Rates& rates,
                                                       const Shading& shading = {});

/// What the advertiser pays for one impression that cleared at `paid`: the price in its currency,
/// rounded up, plus the margin. Never more than Price::hold of a bid that was at least `paid`, by
/// the same rates. nullopt: negative, no rate, or it does not fit.
[[nodiscard]] std::optional<base::Money> charge_of(const CampaignTerms& terms, base::Cpm paid,
                                                   const base::Currency& paid_in,
                                                   const base::Rates& rates);

}  // namespace spillway::bidder
