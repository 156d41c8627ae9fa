#include "bidder/creative_fit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bidder/catalog.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/size_text.h"

namespace spillway::bidder {

namespace {

bool has(const std::vector<int32_t>& list, int32_t value) {
  return std::ranges::find(list, value) != list.end();
}

bool has_any(const std::vector<int32_t>& list, const std::vector<uint16_t>& values) {
  return std::ranges::any_of(values, [&](uint16_t value) { return has(list, value); });
}

bool has_all(const std::vector<int32_t>& list, const std::vector<uint16_t>& values) {
  return std::ranges::all_of(values, [&](uint16_t value) { return has(list, value); });
}

bool banner_size_fits(const Creative& creative, const ImpFacts& imp) {
  const PixelSize size{.w = creative.w, .h = creative.h};
  return std::ranges::find(imp.sizes, size) != imp.sizes.end() ||
         std::ranges::any_of(imp.ratios, [&](const RatioSize& ratio) {
           return int64_t{size.w} * ratio.hratio == int64_t{size.h} * ratio.wratio &&
                  size.w >= ratio.wmin;
         });
}

bool size_fits(const Creative& creative, const ImpFacts& imp) {
  if (creative.media == Media::kBanner) {
    return banner_size_fits(creative, imp);
  }
  const PixelSize player = imp.of(Media::kVideo).size;
  return creative.media != Media::kVideo || player.w == 0 || player.h == 0 ||
         (creative.w <= player.w && creative.h <= player.h);
}

/// Whether the line item's size lists let this place pass. The size of a place is the banner's or
/// the player's; audio and native have none, hence an unknown one.
bool size_allowed(const Catalog& catalog, uint32_t item, const Creative& creative,
                  const ImpFacts& imp) {
  if (!catalog.items()[item].sizes_restricted) {
    return true;
  }
  PixelSize place;
  if (creative.media == Media::kBanner) {
    place = {.w = creative.w, .h = creative.h};
  } else if (creative.media == Media::kVideo) {
    place = imp.of(Media::kVideo).size;
  }
  SizeText text;
  return catalog.index().allows(Dimension::kSize, item, text.of(place));
}

bool duration_fits(const Creative& creative, const MediaFacts& medium) {
  if (!medium.durations_s.empty()) {
    return has(medium.durations_s, creative.duration_s);
  }
  return creative.duration_s >= medium.duration_min_s &&
         (medium.duration_max_s <= 0 || creative.duration_s <= medium.duration_max_s);
}

}  // namespace

std::string_view to_string(Misfit misfit) {
  constexpr std::array<std::string_view, kMisfits> kNames = {
      "none", "offer",     "media",    "size",       "duration", "mime",    "protocol",
      "api",  "attribute", "category", "advertiser", "secure",   "language"};
  return kNames[static_cast<size_t>(misfit)];
}

Misfit creative_fit(const Catalog& catalog, uint32_t item, const Creative& creative,
                    const RequestFacts& facts, const ImpFacts& imp) {
  const MediaFacts& medium = imp.of(creative.media);
  const auto bit = static_cast<unsigned>(creative.media);
  if (!medium.offered || (catalog.items()[item].media >> bit & 1U) == 0) {
    return Misfit::kMedia;
  }
  if (!size_fits(creative, imp) || !size_allowed(catalog, item, creative, imp)) {
    return Misfit::kSize;
  }
  const bool timed = creative.media == Media::kVideo || creative.media == Media::kAudio;
  if (timed && !duration_fits(creative, medium)) {
    return Misfit::kDuration;
  }
  if (!medium.mimes.empty() && !creative.mime.empty() &&
      std::ranges::find(medium.mimes, creative.mime) == medium.mimes.end()) {
    return Misfit::kMime;
  }
  if (timed && !medium.protocols.empty() && !has_any(medium.protocols, creative.protocols)) {
    return Misfit::kProtocol;
  }
  if (!has_all(medium.apis, creative.apis)) {
    return Misfit::kApi;
  }
  if (has_any(medium.battr, creative.attributes)) {
    return Misfit::kAttribute;
  }
  if (imp.secure && !creative.secure) {
    return Misfit::kSecure;
  }
  if (!creative.language.empty() && !facts.wlang.empty() &&
      std::ranges::find(facts.wlang, creative.language) == facts.wlang.end()) {
    return Misfit::kLanguage;
  }
  return Misfit::kNone;
}

}  // namespace spillway::bidder
