#include "bidder_w1/old_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bidder/model.h"

namespace spillway::bench {

namespace {

using bidder::Dimension;
using bidder::Media;
using bidder::Targeting;

bool has(const std::vector<std::string>& list, const std::string& value) {
  return std::ranges::find(list, value) != list.end();
}

const std::vector<std::string>& list_of(const Targeting& targeting, Dimension dimension) {
  return targeting.of(dimension).include;
}

/// The kinds of device the old system told apart.
int device_kind(int32_t type) {
  switch (type) {
    case 1:
    case 4:
      return 1;
    case 2:
      return 2;
    case 3:
    case 6:
    case 7:
      return 3;
    case 5:
      return 5;
    default:
      return 0;
  }
}

bool device_matches(const Targeting& targeting, int32_t type) {
  const auto& list = list_of(targeting, Dimension::kDeviceType);
  return list.empty() || std::ranges::any_of(list, [type](const std::string& value) {
           return device_kind(std::stoi(value)) == device_kind(type);
         });
}

bool place_matches(const Targeting& targeting, const OldRules::Asked& asked) {
  return (asked.country.empty() && asked.metro.empty()) ||
         has(list_of(targeting, Dimension::kCountry), asked.country) ||
         has(list_of(targeting, Dimension::kMetro), asked.metro);
}

bool medium_matches(const Targeting& targeting, Media medium) {
  constexpr const char* kNames[] = {"banner", "video", "audio", "native"};
  const auto& list = list_of(targeting, Dimension::kMedia);
  return list.empty() || has(list, kNames[static_cast<size_t>(medium)]);
}

}  // namespace

OldRules::OldRules(const bidder::CatalogRows& rows) {
  std::unordered_map<int64_t, const bidder::Campaign*> campaigns;
  for (const bidder::Campaign& campaign : rows.campaigns) {
    campaigns[campaign.id] = &campaign;
  }
  std::unordered_map<int64_t, std::set<Media>> media;
  for (const bidder::Creative& creative : rows.creatives) {
    media[creative.line_item].insert(creative.media);
  }
  for (const bidder::LineItem& row : rows.line_items) {
    const bidder::Campaign& campaign = *campaigns.at(row.campaign);
    if (campaign.status != bidder::Status::kActive) {
      continue;
    }
    OldItem item{.id = row.id,
                 .price_micros = campaign.most.micros,
                 .targeting = &row.targeting,
                 .segments = {},
                 .media = media[row.id]};
    for (const std::string& segment : list_of(row.targeting, Dimension::kSegment)) {
      item.segments.push_back(static_cast<uint32_t>(std::stoul(segment)));
    }
    std::ranges::sort(item.segments);
    items_.push_back(std::move(item));
  }
  std::ranges::sort(items_, [](const OldItem& a, const OldItem& b) {
    return std::tuple(-a.price_micros, a.id) < std::tuple(-b.price_micros, b.id);
  });
}

std::vector<int64_t> OldRules::eligible(const Asked& asked, Media media) const {
  const auto in_hours = [&](const OldItem& item) {
    return !item.targeting->hours || item.targeting->hours->test(asked.hour);
  };
  const bool hours_matter = std::ranges::any_of(items_, in_hours);
  std::vector<int64_t> out;
  for (const OldItem& item : items_) {
    const bool wanted = !asked.known || std::ranges::any_of(asked.segments, [&](uint32_t segment) {
      return std::ranges::binary_search(item.segments, segment);
    });
    if (wanted && place_matches(*item.targeting, asked) &&
        device_matches(*item.targeting, asked.device_type) &&
        medium_matches(*item.targeting, media) && item.media.contains(media) &&
        (!hours_matter || in_hours(item))) {
      out.push_back(item.id);
    }
  }
  return out;
}

}  // namespace spillway::bench
