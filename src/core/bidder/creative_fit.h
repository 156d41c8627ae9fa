#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"

namespace spillway::bidder {

/// Why a creative may not serve an imp.
enum class Misfit : uint8_t {
  kNone,   ///< It may.
  kOffer,  ///< The line item has no creative of the imp's media and sizes at all.
  kMedia,  ///< The imp does not take its medium, or the line item's lists do not.
  kSize,   ///< Not among the sizes, larger than the player, or not in the line item's lists.
  kDuration,
  kMime,
  kProtocol,
  kApi,         ///< Needs a framework that the imp does not name.
  kAttribute,   ///< Blocked by battr.
  kCategory,    ///< The advertiser's category, or a parent of it, is blocked; or cannot be told.
  kAdvertiser,  ///< The advertiser's domain, or a parent of it, is blocked.
  kSecure,      ///< The imp wants https.
  kLanguage,    ///< Not among wlang.
};
inline constexpr size_t kMisfits = 13;

[[nodiscard]] std::string_view to_string(Misfit misfit);

/// How many were dropped for each reason, by Misfit.
using MisfitCounts = std::array<uint32_t, kMisfits>;

/// Whether a creative of `item` may serve an imp, the advertiser apart: the first reason against
/// it, in the order of Misfit. What the imp does not say is not held against a creative, but
/// frameworks must be named, and a banner must have a size. Banners have exactly one of the sizes,
/// or a ratio; video is no larger than its player. Source: OpenRTB 2.6, 3.2.6 to 3.2.10.
[[nodiscard]] Misfit creative_fit(const Catalog& catalog, uint32_t item, const Creative& creative,
                                  const RequestFacts& facts, const ImpFacts& imp);

}  // namespace spillway::bidder
