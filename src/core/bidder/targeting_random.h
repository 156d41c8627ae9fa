#pragma once

// Random catalogs and requests of a small vocabulary, so that they meet. Test-side only.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "bidder/model.h"
#include "bidder/naive_targeting.h"
#include "bidder/time_zone.h"

namespace spillway::bidder {

inline constexpr int64_t kNowS = 1'791'979'200;  // Wednesday, 14 October 2026, 12:00 UTC.

/// Draws rows and requests; the same seed gives the same.
class RandomTargeting {
 public:
  explicit RandomTargeting(uint64_t seed) : rng_(seed) {}

  bool chance(double share) { return rng_.uniform() < share; }

  int number(int low, int high) {
    return low + static_cast<int>(
                     rng_.below(static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1));
  }

  std::string pick(std::span<const std::string_view> from) {
    return std::string(from[rng_.below(from.size())]);
  }

  static std::vector<TimeZone> zones() {
    return {{.name = "Tests/East", .changes = {{.from_unix_s = 0, .offset_s = 34'200}}},
            {.name = "Tests/Summer",
             .changes = {{.from_unix_s = 0, .offset_s = -18'000},
                         {.from_unix_s = kNowS - 40'000, .offset_s = -14'400},
                         {.from_unix_s = kNowS + 86'400, .offset_s = -18'000}}}};
  }

  CatalogRows rows(int line_items);
  naive::Request request();

 private:
  using Words = std::vector<std::string_view>;

  /// The words of each dimension: as a catalog writes them and as a request does.
  static const Words& catalog_words(Dimension dimension);
  static const Words& request_words(Dimension dimension);

  std::string word(Dimension dimension) {
    const Words& words = request_words(dimension);
    return chance(0.15) ? "" : pick(words);
  }

  std::vector<std::string> words(Dimension dimension, int most) {
    std::vector<std::string> out;
    for (int n = number(0, most); n > 0; --n) {
      out.push_back(pick(request_words(dimension)));
    }
    return out;
  }

  std::vector<int> codes(int most, int high) {
    std::vector<int> out;
    for (int n = number(0, most); n > 0; --n) {
      out.push_back(number(1, high));
    }
    return out;
  }

  std::vector<uint16_t> few_codes(double share, int high) {
    return chance(share) ? std::vector<uint16_t>{static_cast<uint16_t>(number(1, high))}
                         : std::vector<uint16_t>{};
  }

  Targeting targeting();
  Creative creative(int64_t id, int64_t line_item);
  naive::Imp imp();
  naive::Medium medium(Media kind);

  base::Rng rng_;
};

inline const RandomTargeting::Words& RandomTargeting::catalog_words(Dimension dimension) {
  static const std::array<Words, kDimensions> table = {{
      {"7", "11", "19", "seg:a", "seg:b", "42", "5", "3"},
      {"US", "usa", "DEU", "de", "FRA", "JP"},
      {"CA", "US-NY", "be"},
      {"501", "803", "x"},
      {"10117", "sw1a 1aa", "94105"},
      {"1", "2", "4"},
      {"iOS", "Android", "linux"},
      {"banner", "Video", "audio", "native"},
      {"300x250", "728x90", "640x480"},
      {"s1", "s2", "7"},
      {"a1", "a2"},
      {"news.example", "a.news.example", "Shop.example"},
      {"com.One", "com.two"},
      {"IAB1", "IAB1-2", "IAB7-39", "IAB26"},
      {"en", "de-AT", "FR"},
      {"1", "3", "7"},
      {"d1", "d2", "33"},
  }};
  return table[static_cast<size_t>(dimension)];
}

inline const RandomTargeting::Words& RandomTargeting::request_words(Dimension dimension) {
  static const std::array<Words, kDimensions> table = {{
      {"7", "11", "19", "seg:a", "seg:b", "42", "5", "3", "99", "seg:z"},
      {"US", "USA", "DEU", "fra", "JPN", "XX", "FR"},
      {"CA", "NY", "US-NY", "BE", "TX"},
      {"501", "803", "999"},
      {"10117", "SW1A1AA", "94105", "0"},
      {"1", "2", "4", "5"},
      {"ios", "Android", "Linux", "Other"},
      {"banner", "video", "audio", "native"},
      {"300x250", "728x90", "640x480"},
      {"s1", "s2", "7", "s9"},
      {"a1", "a2", "a9"},
      {"news.example", "a.news.example", "b.a.news.example", "shop.example", "example"},
      {"com.One", "com.two", "com.one"},
      {"IAB1", "IAB1-2", "IAB1-22", "IAB7-39", "IAB7", "IAB26-1"},
      {"en", "de", "fr", "ja"},
      {"1", "3", "7", "2"},
      {"d1", "d2", "33", "d9"},
  }};
  return table[static_cast<size_t>(dimension)];
}

inline Targeting RandomTargeting::targeting() {
  Targeting out;
  for (int n = number(0, 3); n > 0; --n) {
    const auto dimension = static_cast<Dimension>(number(0, kDimensions - 1));
    Lists& lists = out.of(dimension);
    const int kind = number(0, 4);  // Mostly include.
    for (int v = number(1, 3); v > 0; --v) {
      if (kind != 3) {
        lists.include.push_back(pick(catalog_words(dimension)));
      }
      if (kind >= 3 && v < 3) {
        lists.exclude.push_back(pick(catalog_words(dimension)));
      }
    }
  }
  if (chance(0.15)) {
    for (int n = number(1, 3); n > 0; --n) {
      out.radii.push_back({.lat = rng_.uniform(-90, 90),
                           .lon = rng_.uniform(-180, 180),
                           .km = chance(0.5) ? rng_.uniform(1, 300) : rng_.uniform(300, 20'000),
                           .exclude = chance(0.4)});
    }
  }
  if (chance(0.3)) {
    out.hours.emplace();
    for (size_t hour = 0; hour < out.hours->size(); ++hour) {
      out.hours->set(hour, chance(0.7));
    }
    if (chance(0.1)) {
      out.hours->reset();
    }
  }
  return out;
}

inline Creative RandomTargeting::creative(int64_t id, int64_t line_item) {
  constexpr int kSizes[][2] = {{300, 250}, {728, 90}, {640, 480}, {600, 500}, {320, 50}};
  Creative out;
  out.id = id;
  out.line_item = line_item;
  out.status = chance(0.05) ? Status::kPaused : Status::kActive;
  out.media = static_cast<Media>(chance(0.5) ? 0 : number(0, 3));
  const bool timed = out.media == Media::kVideo || out.media == Media::kAudio;
  if (out.media == Media::kBanner || (out.media == Media::kVideo && chance(0.8))) {
    const auto& size = kSizes[number(0, 4)];
    out.w = static_cast<uint16_t>(size[0]);
    out.h = static_cast<uint16_t>(size[1]);
  }
  if (timed) {
    out.duration_s = static_cast<uint16_t>(number(1, 6) * 5);
    out.mime = chance(0.5) ? "video/mp4" : "Audio/MPEG";
    out.protocols = few_codes(0.9, 4);
  }
  out.markup = "<a>";
  out.attributes = few_codes(0.3, 5);
  out.apis = few_codes(0.2, 4);
  out.language = chance(0.3) ? (chance(0.5) ? "en" : "de") : "";
  out.secure = chance(0.9);
  return out;
}

inline CatalogRows RandomTargeting::rows(int line_items) {
  CatalogRows out;
  const auto status = [this] { return chance(0.04) ? Status::kPaused : Status::kActive; };
  for (int64_t id = 1; id <= 8; ++id) {
    Advertiser advertiser;
    advertiser.id = id;
    advertiser.status = status();
    advertiser.domain =
        pick(std::array<std::string_view, 3>{"one.example", "b.two.example", "three.example"});
    advertiser.categories = words(Dimension::kCategory, 2);
    advertiser.time_zone =
        pick(std::array<std::string_view, 3>{"UTC", "Tests/East", "Tests/Summer"});
    out.advertisers.push_back(std::move(advertiser));
  }
  const auto flight = [this](auto& row) {
    if (chance(0.2)) {
      row.start_s = kNowS + number(-90, 30) * 3600;
    }
    if (chance(0.2)) {
      row.end_s = kNowS + number(31, 120) * 3600 - (row.start_s ? 0 : 200'000);
    }
  };
  const int campaigns = line_items / 3 + 1;
  for (int64_t id = 1; id <= campaigns; ++id) {
    Campaign campaign;
    campaign.id = id;
    campaign.advertiser = number(1, 8);
    campaign.status = status();
    campaign.goal = Goal::kCpc;
    campaign.goal_value_micros = 1'000'000;
    campaign.most = {number(1, 50) * int64_t{100'000}};
    flight(campaign);
    out.campaigns.push_back(std::move(campaign));
  }
  int64_t creative_id = 1;
  for (int64_t id = 1; id <= line_items; ++id) {
    LineItem line_item;
    line_item.id = id;
    line_item.campaign = number(1, campaigns);
    line_item.status = status();
    flight(line_item);
    line_item.targeting = targeting();
    out.line_items.push_back(std::move(line_item));
    for (int n = number(0, 4); n > 0; --n) {
      out.creatives.push_back(creative(creative_id++, id));
    }
  }
  return out;
}

inline naive::Medium RandomTargeting::medium(Media kind) {
  constexpr int kSizes[][2] = {{300, 250}, {728, 90}, {640, 480}};
  naive::Medium out;
  out.offered = true;
  if (chance(0.8)) {
    const auto& size = kSizes[number(0, 2)];
    out.w = size[0];
    out.h = size[1];
  }
  if (kind == Media::kBanner) {
    for (int n = chance(0.4) ? number(1, 3) : 0; n > 0; --n) {
      const auto& size = kSizes[number(0, 2)];
      out.formats.emplace_back(size[0], size[1]);
    }
    if (chance(0.1)) {
      out.ratios.push_back({6, 5, number(100, 400)});
    }
  } else if (kind != Media::kNative) {
    out.min_s = chance(0.5) ? 5 : 0;
    out.max_s = chance(0.7) ? number(15, 30) : 0;
    if (chance(0.1)) {
      out.durations = {10, 20};
    }
    out.mimes = {"video/MP4"};
    if (chance(0.7)) {
      out.mimes.emplace_back("audio/mpeg");
    }
    out.protocols = codes(4, 4);
  }
  out.apis = codes(3, 4);
  out.battr = codes(2, 5);
  out.pos = chance(0.5) ? number(1, 7) : 0;
  return out;
}

inline naive::Imp RandomTargeting::imp() {
  naive::Imp out;
  do {
    for (size_t m = 0; m < out.media.size(); ++m) {
      if (chance(m == 0 ? 0.7 : 0.3)) {
        out.media[m] = medium(static_cast<Media>(m));
      }
    }
  } while (std::ranges::none_of(out.media, &naive::Medium::offered));
  out.secure = chance(0.3);
  if (chance(0.4)) {
    for (const std::string& id : words(Dimension::kDeal, 3)) {
      naive::Deal deal{.id = id, .wseat = {}, .wadomain = {}};
      if (chance(0.2)) {
        deal.wseat = {chance(0.5) ? "ours" : "theirs"};
      }
      if (chance(0.2)) {
        deal.wadomain = {"one.example", "three.example"};
      }
      out.deals.push_back(std::move(deal));
    }
    out.private_auction = chance(0.3);
  }
  return out;
}

inline naive::Request RandomTargeting::request() {
  naive::Request out;
  out.id = "r" + std::to_string(rng_.below(1'000'000'000));
  out.country = word(Dimension::kCountry);
  out.region = word(Dimension::kRegion);
  out.metro = word(Dimension::kMetro);
  out.zip = word(Dimension::kZip);
  if (chance(0.7)) {
    out.point = {rng_.uniform(-90, 90), rng_.uniform(-180, 180)};
  }
  out.device_type = chance(0.1) ? 0 : number(1, 5);
  out.os = word(Dimension::kOs);
  out.language = word(Dimension::kLanguage);
  out.app = chance(0.4);
  out.inventory_id = word(out.app ? Dimension::kApp : Dimension::kSite);
  out.domain = word(Dimension::kDomain);
  out.bundle = out.app ? word(Dimension::kBundle) : "";
  out.categories = words(Dimension::kCategory, 3);
  out.segments = chance(0.3) ? std::vector<std::string>{} : words(Dimension::kSegment, 6);
  out.state = static_cast<SegmentState>(number(0, 3));
  if (chance(0.2)) {
    out.bcat = words(Dimension::kCategory, 2);
  }
  if (chance(0.2)) {
    out.badv = {chance(0.5) ? "two.example" : "One.example"};
  }
  if (chance(0.2)) {
    out.wlang = {chance(0.5) ? "en" : "fr"};
  }
  out.seat = "ours";
  for (int n = number(1, 3); n > 0; --n) {
    out.imps.push_back(imp());
  }
  return out;
}

}  // namespace spillway::bidder
