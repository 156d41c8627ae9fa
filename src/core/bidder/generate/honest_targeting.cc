#include "bidder/generate/honest_targeting.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "bidder/day_parts.h"
#include "bidder/model.h"
#include "bidder/model_text.h"

namespace spillway::bidder::generate {

namespace {

using Values = std::span<const std::string_view>;

constexpr uint64_t kPublishers = 500;
constexpr uint64_t kDeals = 200;

// Both spellings of a country, as operators mix them.
constexpr std::array<std::string_view, 16> kCountries = {"US", "USA", "DE", "DEU", "GB", "FR",
                                                         "JP", "BR",  "CA", "MX",  "IT", "ES",
                                                         "NL", "SE",  "AU", "IN"};
constexpr std::array<std::string_view, 8> kRegions = {"CA", "NY", "TX",  "FL",
                                                      "BY", "BE", "ENG", "IDF"};
constexpr std::array<std::string_view, 6> kMetros = {"501", "803", "602", "623", "807", "524"};
constexpr std::array<std::string_view, 4> kZips = {"10001", "94103", "60601", "10115"};
constexpr std::array<std::string_view, 7> kDevices = {"1", "2", "3", "4", "5", "6", "7"};
constexpr std::array<std::string_view, 5> kSystems = {"Linux", "iOS", "Android", "Windows",
                                                      "macOS"};
constexpr std::array<std::string_view, 6> kSizes = {"300x250", "728x90",  "320x50",
                                                    "160x600", "970x250", "300x600"};
constexpr std::array<std::string_view, 5> kLanguages = {"en", "de", "fr", "es", "ja"};
constexpr std::array<std::string_view, 4> kPositions = {"1", "3", "4", "7"};
constexpr std::array<std::string_view, 8> kCategories = {"IAB1", "IAB2",  "IAB3",  "IAB12",
                                                         "IAB9", "IAB17", "IAB19", "IAB12-2"};
constexpr std::array<std::string_view, 6> kHours = {"mon-fri 8-22; sat-sun 10-22",
                                                    "mon-fri 8-18",
                                                    "mon-sun 18-24",
                                                    "mon-sun 6-24",
                                                    "sat-sun 0-24",
                                                    "mon-sun 0-2,17-24"};

/// Up to `most` different values.
void some_of(Values values, uint64_t most, base::Rng& rng, std::vector<std::string>& out) {
  const uint64_t count = 1 + rng.below(most);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view value = values[rng.below(values.size())];
    if (std::ranges::find(out, value) == out.end()) {
      out.emplace_back(value);
    }
  }
}

/// How often a dimension is restricted, and by what.
struct Share {
  Dimension dimension;
  double include_ratio;
  double exclude_ratio;
  Values values;
  uint64_t most;
};

constexpr std::array<Share, 9> kShares = {{
    {Dimension::kCountry, 0.70, 0.05, kCountries, 5},
    {Dimension::kRegion, 0.04, 0.02, kRegions, 3},
    {Dimension::kMetro, 0.05, 0.02, kMetros, 4},
    {Dimension::kZip, 0.02, 0.01, kZips, 2},
    {Dimension::kDeviceType, 0.40, 0.05, kDevices, 4},
    {Dimension::kOs, 0.10, 0.05, kSystems, 3},
    {Dimension::kSize, 0.10, 0.03, kSizes, 4},
    {Dimension::kLanguage, 0.15, 0.03, kLanguages, 2},
    {Dimension::kPosition, 0.06, 0.04, kPositions, 2},
}};

/// Names with a number behind: "site-17".
struct Numbered {
  Dimension dimension;
  double include_ratio;
  double exclude_ratio;
  std::string_view before;
  std::string_view behind;
  uint64_t numbers;
  uint64_t most;
};

constexpr std::array<Numbered, 5> kNumbered = {{
    {Dimension::kSite, 0.02, 0.02, "site-", "", kPublishers, 40},
    {Dimension::kApp, 0.01, 0.01, "app-", "", kPublishers, 40},
    {Dimension::kDomain, 0.03, 0.08, "site", ".example", kPublishers, 30},
    {Dimension::kBundle, 0.02, 0.03, "example.app", "", kPublishers, 30},
    {Dimension::kDeal, 0.04, 0.0, "deal-", "", kDeals, 3},
}};

void add_numbered(const Numbered& numbered, base::Rng& rng, Lists& lists) {
  const double draw = rng.uniform();
  if (draw >= numbered.include_ratio + numbered.exclude_ratio) {
    return;
  }
  auto& out = draw < numbered.include_ratio ? lists.include : lists.exclude;
  const uint64_t count = 1 + rng.below(numbered.most);
  for (uint64_t i = 0; i < count; ++i) {
    std::string value(numbered.before);
    value.append(std::to_string(rng.below(numbered.numbers))).append(numbered.behind);
    if (std::ranges::find(out, value) == out.end()) {
      out.push_back(std::move(value));
    }
  }
}

}  // namespace

void HonestTargeting::segments(base::Rng& rng, Lists& lists) {
  if (rng.uniform() < 0.55) {
    segments_.draw_distinct(rng, static_cast<uint32_t>(1 + rng.below(12)), drawn_);
    for (const uint32_t segment : drawn_) {
      lists.include.push_back(std::to_string(segment));
    }
  }
  if (rng.uniform() < 0.15) {
    segments_.draw_distinct(rng, static_cast<uint32_t>(1 + rng.below(3)), drawn_);
    for (const uint32_t segment : drawn_) {
      const std::string value = std::to_string(segment);
      if (std::ranges::find(lists.include, value) == lists.include.end()) {
        lists.exclude.push_back(value);
      }
    }
  }
}

Targeting HonestTargeting::draw(base::Rng& rng, Media media) {
  Targeting out;
  segments(rng, out.of(Dimension::kSegment));
  for (const Share& share : kShares) {
    if (share.dimension == Dimension::kSize && media != Media::kBanner) {
      continue;
    }
    const double draw = rng.uniform();
    Lists& lists = out.of(share.dimension);
    if (draw < share.include_ratio) {
      some_of(share.values, share.most, rng, lists.include);
    } else if (draw < share.include_ratio + share.exclude_ratio) {
      some_of(share.values, share.most, rng, lists.exclude);
    }
  }
  for (const Numbered& numbered : kNumbered) {
    add_numbered(numbered, rng, out.of(numbered.dimension));
  }
  Lists& categories = out.of(Dimension::kCategory);
  const double draw = rng.uniform();
  if (draw < 0.18) {
    some_of(kCategories, 3, rng, draw < 0.08 ? categories.include : categories.exclude);
  }
  if (rng.uniform() < 0.30) {
    out.of(Dimension::kMedia).include.emplace_back(name_of(media));
  }
  if (rng.uniform() < 0.02) {
    out.radii.push_back({.lat = rng.uniform(30, 55),
                         .lon = rng.uniform(-120, 20),
                         .km = rng.uniform(5, 80),
                         .exclude = rng.uniform() < 0.2});
  }
  if (rng.uniform() < 0.35) {
    out.hours = *parse_day_parts(kHours.at(rng.below(kHours.size())));
  }
  return out;
}

}  // namespace spillway::bidder::generate
