#pragma once

// Which creatives fit, one rule at a time: part of the oracle. Test-side only.

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "bidder/model.h"
#include "bidder/naive_request.h"

namespace spillway::bidder::naive {

inline bool place_fits(const Lists& sizes, const Creative& creative, const Imp& imp) {
  const Medium& medium = imp.media[static_cast<size_t>(creative.media)];
  std::string place;
  if (creative.media == Media::kBanner) {
    bool fits = creative.w == medium.w && creative.h == medium.h;
    fits = fits || has(medium.formats, std::pair<int, int>(creative.w, creative.h));
    for (const auto& [wratio, hratio, wmin] : medium.ratios) {
      fits = fits || (creative.w * hratio == creative.h * wratio && creative.w >= wmin);
    }
    if (!fits) {
      return false;
    }
    place = size_text(creative.w, creative.h);
  } else if (creative.media == Media::kVideo && medium.w > 0 && medium.h > 0) {
    if (creative.w > medium.w || creative.h > medium.h) {
      return false;
    }
    place = size_text(medium.w, medium.h);
  }
  return !sizes.restricted() || (!place.empty() && !has(sizes.exclude, place) &&
                                 (sizes.include.empty() || has(sizes.include, place)));
}

inline bool creative_fits(const LineItem& line_item, const Creative& creative,
                          const Request& request, const Imp& imp) {
  const Medium& medium = imp.media[static_cast<size_t>(creative.media)];
  const std::string name = kMediaNames[static_cast<size_t>(creative.media)];
  const Lists& media = line_item.targeting.of(Dimension::kMedia);
  const auto named = [&](const std::vector<std::string>& list) {
    return std::ranges::any_of(list, [&](const auto& value) { return lower(value) == name; });
  };
  if (creative.status != Status::kActive || !medium.offered || named(media.exclude) ||
      (!media.include.empty() && !named(media.include)) ||
      !place_fits(line_item.targeting.of(Dimension::kSize), creative, imp)) {
    return false;
  }
  if (creative.media == Media::kVideo || creative.media == Media::kAudio) {
    const int length = creative.duration_s;
    const bool in_time =
        medium.durations.empty()
            ? length >= medium.min_s && (medium.max_s == 0 || length <= medium.max_s)
            : has(medium.durations, length);
    const bool spoken =
        medium.protocols.empty() ||
        std::ranges::any_of(creative.protocols, [&](int p) { return has(medium.protocols, p); });
    if (!in_time || !spoken) {
      return false;
    }
  }
  const auto lower_mimes = [&] {
    std::vector<std::string> out;
    std::ranges::transform(medium.mimes, std::back_inserter(out), lower);
    return out;
  };
  return (medium.mimes.empty() || creative.mime.empty() ||
          has(lower_mimes(), lower(creative.mime))) &&
         std::ranges::all_of(creative.apis, [&](int api) { return has(medium.apis, api); }) &&
         std::ranges::none_of(creative.attributes, [&](int a) { return has(medium.battr, a); }) &&
         (!imp.secure || creative.secure) &&
         (creative.language.empty() || request.wlang.empty() ||
          has(request.wlang, creative.language));
}

}  // namespace spillway::bidder::naive
