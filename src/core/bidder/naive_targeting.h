#pragma once

// The oracle of the tests: what a line item asks of a request, read off model.h one row at a time.
// Shares no code with the index. Test-side only.

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bidder/facts.h"
#include "bidder/model.h"
#include "bidder/naive_fit.h"
#include "bidder/naive_request.h"
#include "bidder/time_zone.h"

namespace spillway::bidder::naive {

/// One spelling of a country, of the few that tests use.
inline std::string country(std::string_view text) {
  static const std::map<std::string, std::string> known = {
      {"us", "us"}, {"usa", "us"}, {"de", "de"}, {"deu", "de"},
      {"fr", "fr"}, {"fra", "fr"}, {"jp", "jp"}, {"jpn", "jp"}};
  const auto at = known.find(lower(text));
  return at == known.end() ? "" : at->second;
}

/// Whether a value of a request is one that a list names.
inline bool same(Dimension dimension, const std::string& listed, const std::string& said) {
  switch (dimension) {
    case Dimension::kCountry:
      return country(listed) == country(said);
    case Dimension::kDomain:
      return lower(said) == lower(listed) || lower(said).ends_with("." + lower(listed));
    case Dimension::kCategory:
      return said == listed || said.starts_with(listed + "-");
    case Dimension::kRegion: {
      const std::string a = lower(listed), b = lower(said);
      const auto tail = [](const std::string& s) { return s.substr(s.find('-') + 1); };
      return tail(a) == tail(b);
    }
    case Dimension::kZip: {
      std::string plain = lower(listed);
      std::erase(plain, ' ');
      return plain == lower(said);
    }
    case Dimension::kLanguage:
      return lower(listed.substr(0, 2)) == lower(said.substr(0, 2));
    case Dimension::kSegment:
    case Dimension::kMetro:
    case Dimension::kSite:
    case Dimension::kApp:
    case Dimension::kBundle:
    case Dimension::kDeal:
      return listed == said;
    default:
      return lower(listed) == lower(said);
  }
}

using Values = std::optional<std::vector<std::string>>;  // Nothing: unknown.

inline Values one(const std::string& value) { return value.empty() ? Values() : Values({value}); }

inline bool ours(const Deal& deal, const std::string& seat) {
  return deal.wseat.empty() || std::ranges::find(deal.wseat, seat) != deal.wseat.end();
}

inline Values imp_values(const Request& request, const Imp& imp, Dimension dimension) {
  std::vector<std::string> out;
  if (dimension == Dimension::kDeal) {
    for (const Deal& deal : imp.deals) {
      if (ours(deal, request.seat)) {
        out.push_back(deal.id);
      }
    }
    return out;
  }
  for (size_t m = 0; m < imp.media.size(); ++m) {
    const Medium& medium = imp.media[m];
    if (!medium.offered) {
      continue;
    }
    if (dimension == Dimension::kMedia) {
      out.emplace_back(kMediaNames[m]);
    } else if (dimension == Dimension::kPosition) {
      if (medium.pos > 0) {
        out.push_back(std::to_string(medium.pos));
      }
    } else if (m <= 1) {
      if (medium.w > 0 && medium.h > 0) {
        out.push_back(size_text(medium.w, medium.h));
      }
      for (const auto& [w, h] : medium.formats) {
        out.push_back(size_text(w, h));
      }
    }
  }
  return out.empty() ? Values() : Values(out);
}

inline Values values(const Request& request, const Imp& imp, Dimension dimension) {
  switch (dimension) {
    case Dimension::kSegment:
      if (request.segments.empty() && request.state != SegmentState::kKnown &&
          request.state != SegmentState::kNone) {
        return std::nullopt;
      }
      return request.segments;
    case Dimension::kCountry:
      return one(country(request.country));
    case Dimension::kRegion:
      return one(request.region);
    case Dimension::kMetro:
      return one(request.metro);
    case Dimension::kZip:
      return one(request.zip);
    case Dimension::kDeviceType:
      return one(request.device_type == 0 ? "" : std::to_string(request.device_type));
    case Dimension::kOs:
      return one(request.os);
    case Dimension::kSite:
      return one(request.app ? "" : request.inventory_id);
    case Dimension::kApp:
      return one(request.app ? request.inventory_id : "");
    case Dimension::kDomain:
      return one(request.domain);
    case Dimension::kBundle:
      return one(request.bundle);
    case Dimension::kCategory:
      return request.categories.empty() ? Values() : Values(request.categories);
    case Dimension::kLanguage:
      return one(request.language);
    default:
      return imp_values(request, imp, dimension);
  }
}

inline bool lists_match(const Lists& lists, Dimension dimension, const Request& request,
                        const Imp& imp) {
  if (!lists.restricted()) {
    return true;
  }
  const Values said = values(request, imp, dimension);
  if (!said) {
    return false;
  }
  const auto in = [&](const std::vector<std::string>& list, const std::string& value) {
    return std::ranges::any_of(list, [&](const auto& v) { return same(dimension, v, value); });
  };
  const auto included = [&](const std::string& v) {
    return lists.include.empty() || in(lists.include, v);
  };
  const auto excluded = [&](const std::string& v) { return in(lists.exclude, v); };
  if (dimension == Dimension::kMedia || dimension == Dimension::kSize) {
    return std::ranges::any_of(*said, [&](const auto& v) { return included(v) && !excluded(v); });
  }
  if (dimension == Dimension::kSegment && request.state == SegmentState::kCouldNotAsk &&
      !lists.exclude.empty()) {
    return false;
  }
  return (lists.include.empty() || std::ranges::any_of(*said, included)) &&
         std::ranges::none_of(*said, excluded);
}

/// Great-circle distance by the spherical law of cosines.
inline double distance_km(double lat1, double lon1, double lat2, double lon2) {
  constexpr double kRadian = std::numbers::pi / 180;
  const double cosine =
      std::sin(lat1 * kRadian) * std::sin(lat2 * kRadian) +
      std::cos(lat1 * kRadian) * std::cos(lat2 * kRadian) * std::cos((lon1 - lon2) * kRadian);
  return 6371.0088 * std::acos(std::clamp(cosine, -1.0, 1.0));
}

inline bool radii_match(const std::vector<Radius>& radii, const Request& request) {
  if (radii.empty()) {
    return true;
  }
  if (!request.point) {
    return false;
  }
  bool must = false, in = false;
  for (const Radius& radius : radii) {
    const bool inside = distance_km(radius.lat, radius.lon, request.point->first,
                                    request.point->second) <= radius.km;
    if (radius.exclude && inside) {
      return false;
    }
    must = must || !radius.exclude;
    in = in || (!radius.exclude && inside);
  }
  return !must || in;
}

inline bool hours_match(const std::optional<DayParts>& hours, const TimeZone& zone, int64_t now_s) {
  if (!hours) {
    return true;
  }
  int64_t offset_s = zone.changes.empty() ? 0 : zone.changes.front().offset_s;
  for (const TimeZone::Change& change : zone.changes) {
    if (change.from_unix_s <= now_s) {
      offset_s = change.offset_s;
    }
  }
  // Monday, 5 January 1970, began 4 days after the epoch.
  constexpr int64_t kWeekS = 168 * 3600;
  const int64_t into_s = ((now_s + offset_s - 4 * 86'400) % kWeekS + kWeekS) % kWeekS;
  return hours->test(static_cast<size_t>(into_s / 3600));
}

inline bool flight_matches(const std::optional<int64_t>& start_s,
                           const std::optional<int64_t>& end_s, int64_t now_s) {
  return (!start_s || now_s >= *start_s) && (!end_s || now_s < *end_s);
}

inline bool advertiser_fits(const Advertiser& advertiser, const Request& request) {
  for (const std::string& blocked : request.bcat) {
    for (const std::string& own : advertiser.categories) {
      if (own == blocked || own.starts_with(blocked + "-") || blocked.starts_with(own + "-")) {
        return false;
      }
    }
  }
  return std::ranges::none_of(request.badv, [&](const std::string& blocked) {
    return same(Dimension::kDomain, blocked, advertiser.domain);
  });
}

/// What may serve: a line item and those of its creatives that fit.
struct Match {
  int64_t line_item = 0;
  std::vector<int64_t> creatives;  ///< Ascending.

  bool operator==(const Match&) const = default;
};

inline bool deal_allows(const LineItem& line_item, const Advertiser& advertiser,
                        const Request& request, const Imp& imp) {
  const Lists& deals = line_item.targeting.of(Dimension::kDeal);
  if (deals.include.empty()) {
    return !imp.private_auction;
  }
  return std::ranges::any_of(imp.deals, [&](const Deal& deal) {
    return ours(deal, request.seat) && has(deals.include, deal.id) &&
           (deal.wadomain.empty() || has(deal.wadomain, advertiser.domain));
  });
}

/// A catalog, asked row by row. The rows are without problems.
class Evaluator {
 public:
  Evaluator(const CatalogRows& rows, std::span<const TimeZone> zones) : rows_(rows) {
    for (const Advertiser& row : rows.advertisers) {
      advertisers_[row.id] = &row;
      const auto zone = std::ranges::find(zones, row.time_zone, &TimeZone::name);
      zones_[row.id] = zone == zones.end() ? TimeZone{} : *zone;
    }
    for (const Campaign& row : rows.campaigns) {
      campaigns_[row.id] = &row;
    }
    for (const Creative& row : rows.creatives) {
      creatives_[row.line_item].push_back(&row);
    }
  }

  /// All that may serve an imp of a request, best first.
  [[nodiscard]] std::vector<Match> matches(const Request& request, const Imp& imp,
                                           int64_t now_s) const {
    std::vector<std::pair<int64_t, Match>> found;  // By minus what it is worth.
    for (const LineItem& line_item : rows_.line_items) {
      const Campaign& campaign = *campaigns_.at(line_item.campaign);
      if (!asks_for(line_item, campaign, request, imp, now_s)) {
        continue;
      }
      Match match{.line_item = line_item.id, .creatives = fitting(line_item, request, imp)};
      if (!match.creatives.empty()) {
        found.emplace_back(-campaign.most.micros, std::move(match));
      }
    }
    std::ranges::sort(found, [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.line_item) < std::pair(b.first, b.second.line_item);
    });
    std::vector<Match> out(found.size());
    std::ranges::transform(found, out.begin(), [](auto& each) { return std::move(each.second); });
    return out;
  }

 private:
  [[nodiscard]] bool asks_for(const LineItem& line_item, const Campaign& campaign,
                              const Request& request, const Imp& imp, int64_t now_s) const {
    const Advertiser& advertiser = *advertisers_.at(campaign.advertiser);
    bool good = line_item.status == Status::kActive && campaign.status == Status::kActive &&
                advertiser.status == Status::kActive &&
                flight_matches(line_item.start_s, line_item.end_s, now_s) &&
                flight_matches(campaign.start_s, campaign.end_s, now_s) &&
                hours_match(line_item.targeting.hours, zones_.at(advertiser.id), now_s) &&
                radii_match(line_item.targeting.radii, request) &&
                advertiser_fits(advertiser, request) &&
                deal_allows(line_item, advertiser, request, imp);
    for (size_t d = 0; good && d < kDimensions; ++d) {
      good = lists_match(line_item.targeting.lists[d], static_cast<Dimension>(d), request, imp);
    }
    return good;
  }

  [[nodiscard]] std::vector<int64_t> fitting(const LineItem& line_item, const Request& request,
                                             const Imp& imp) const {
    std::vector<int64_t> out;
    const auto own = creatives_.find(line_item.id);
    if (own == creatives_.end()) {
      return out;
    }
    for (const Creative* creative : own->second) {
      if (creative_fits(line_item, *creative, request, imp)) {
        out.push_back(creative->id);
      }
    }
    std::ranges::sort(out);
    return out;
  }

  const CatalogRows& rows_;
  std::unordered_map<int64_t, const Advertiser*> advertisers_;
  std::unordered_map<int64_t, TimeZone> zones_;
  std::unordered_map<int64_t, const Campaign*> campaigns_;
  std::unordered_map<int64_t, std::vector<const Creative*>> creatives_;
};

}  // namespace spillway::bidder::naive
