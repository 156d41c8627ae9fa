#pragma once

#include <cstdint>
#include <vector>

#include "base/money.h"
#include "exchange/clearing/rates.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

/// One imp filled by a local ad.
struct HouseFill {
  uint32_t imp = 0;  ///< Index into RequestView::imps.
  uint32_t ad = 0;   ///< Index into Snapshot::house_ads.
  base::Cpm price;   ///< The imp's floor in the reply's currency, zero without one.
};

inline constexpr uint32_t kNoHouseAd = 0xffffffff;

/// A house ad for an imp, or kNoHouseAd: its type asked for, its size among the imp's (or in one of
/// its ratios; any size when the imp names none), no blocked advertiser (the domain or one it is
/// below) and no blocked category (itself or an ancestor), nothing insecure in a secure imp. Among
/// several, one by hash of seed, imp id and ad, so that equal inputs give equal ads.
///
/// Memory only, no partner: what is served when nobody else can. Cost: linear in the ads.
[[nodiscard]] uint32_t match_house_ad(const Snapshot& snapshot, const openrtb::RequestView& request,
                                      uint32_t imp, uint64_t seed);

/// The currency of a reply, and how others come to it.
struct ReplyCurrency {
  base::Currency currency;
  const clearing::Rates* rates = nullptr;  ///< Fresh ones, or null.
};

/// Appends a fill for `imp` if there is an ad. A floor in another currency than the reply's is
/// converted, rounded up; without a rate it cannot be met, so such an imp stays empty.
void fill_with_house(const Snapshot& snapshot, const openrtb::RequestView& request, uint32_t imp,
                     uint64_t seed, const ReplyCurrency& reply, std::vector<HouseFill>& out);

}  // namespace spillway::exchange
