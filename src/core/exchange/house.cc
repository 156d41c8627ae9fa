#include "exchange/house.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "exchange/clearing/blocklist.h"
#include "exchange/clearing/floors.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"

namespace spillway::exchange {

namespace {

using openrtb::MediaType;

bool is_blocked(const HouseAd& ad, const openrtb::RequestView& request) {
  const auto has_category = [&](const std::vector<std::string>& listed) {
    return ad.cattax == request.cattax &&
           std::ranges::any_of(ad.cat, [&](const std::string& category) {
             return clearing::category_listed(category, listed, ad.cattax);
           });
  };
  return std::ranges::any_of(ad.adomain,
                             [&](const std::string& domain) {
                               return clearing::domain_listed(domain, request.badv);
                             }) ||
         has_category(request.bcat) || (!request.acat.empty() && !has_category(request.acat));
}

bool banner_fits(const HouseAd& ad, const openrtb::Imp& imp) {
  if (imp.sizes.empty() && imp.ratios.empty()) {
    return true;
  }
  if (std::ranges::find(imp.sizes, openrtb::Size{.w = ad.w, .h = ad.h}) != imp.sizes.end()) {
    return true;
  }
  if (ad.w <= 0 || ad.h <= 0) {
    return false;
  }
  for (size_t i = 0; i < imp.ratios.size(); ++i) {
    const int32_t wmin = i < imp.ratio_wmin.size() ? imp.ratio_wmin[i] : 0;
    if (int64_t{ad.w} * imp.ratios[i].h == int64_t{ad.h} * imp.ratios[i].w && ad.w >= wmin) {
      return true;
    }
  }
  return false;
}

bool size_fits(const HouseAd& ad, const openrtb::Imp& imp) {
  switch (ad.type) {
    case MediaType::kBanner:
      return banner_fits(ad, imp);
    case MediaType::kVideo: {
      const openrtb::Size size{.w = ad.w, .h = ad.h};
      return size == openrtb::Size{} || imp.video_size == openrtb::Size{} || size == imp.video_size;
    }
    case MediaType::kAudio:
    case MediaType::kNative:
      return true;
  }
  return false;
}

bool suits(const HouseAd& ad, const openrtb::RequestView& request, const openrtb::Imp& imp) {
  return (imp.media & static_cast<uint8_t>(ad.type)) != 0 && size_fits(ad, imp) &&
         !is_blocked(ad, request) && (!imp.secure || !ad.adm.contains("http:"));
}

}  // namespace

uint32_t match_house_ad(const Snapshot& snapshot, const openrtb::RequestView& request, uint32_t imp,
                        uint64_t seed) {
  const uint64_t imp_hash = base::hash64(request.imps[imp].id, seed);
  uint32_t best = kNoHouseAd;
  uint64_t best_hash = 0;
  for (uint32_t i = 0; i < snapshot.house_ads.size(); ++i) {
    const uint64_t hash = base::combine64(imp_hash, i);
    if ((best == kNoHouseAd || hash < best_hash) &&
        suits(snapshot.house_ads[i], request, request.imps[imp])) {
      best = i;
      best_hash = hash;
    }
  }
  return best;
}

void fill_with_house(const Snapshot& snapshot, const openrtb::RequestView& request, uint32_t imp,
                     uint64_t seed, const ReplyCurrency& reply, std::vector<HouseFill>& out) {
  const openrtb::Imp& asked = request.imps[imp];
  const Floor floor{.price = asked.floor, .currency = asked.floor_currency};
  const auto price = clearing::highest({&floor, 1}, reply.currency, reply.rates);
  if (!price) {
    return;
  }
  const uint32_t ad = match_house_ad(snapshot, request, imp, seed);
  if (ad != kNoHouseAd) {
    out.push_back({.imp = imp, .ad = ad, .price = *price});
  }
}

}  // namespace spillway::exchange
