#include "bidder/facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bidder/canonical.h"
#include "bidder/model.h"
#include "bidder/value_table.h"

namespace spillway::bidder {

void RequestFacts::add_segment(std::string_view segment) {
  if (uint32_t number = 0; parse_number(segment, number)) {
    segment_numbers.push_back(number);
  } else if (!segment.empty()) {
    segment_texts.push_back(pool.add(segment));
  }
}

void RequestFacts::add_segments(std::string_view lines) {
  constexpr size_t kDigitsMost = 9;  // So many always fit.
  while (!lines.empty()) {
    uint32_t number = 0;
    size_t digits = 0;
    for (; digits < lines.size() && digits <= kDigitsMost; ++digits) {
      const unsigned digit = static_cast<unsigned char>(lines[digits]) - unsigned{'0'};
      if (digit > 9) {
        break;
      }
      number = number * 10 + digit;
    }
    const bool ends = digits == lines.size() || lines[digits] == '\n';
    const bool plain = digits > 0 && digits <= kDigitsMost && (lines[0] != '0' || digits == 1);
    size_t length = digits;
    if (ends && plain) {
      segment_numbers.push_back(number);
    } else {
      length = std::min(lines.find('\n'), lines.size());
      add_segment(lines.substr(0, length));
    }
    lines.remove_prefix(std::min(length + 1, lines.size()));
  }
}

void RequestFacts::clear_segments() {
  segment_numbers.clear();
  segment_texts.clear();
}

void RequestFacts::clear_ids() {
  user_id = {};
  buyeruid = {};
  ifa = {};
}

void RequestFacts::add_geo(const GeoFacts& found) {
  const std::string_view country = country_alpha2(found.country);
  if (!geo.empty() && (geo.country.empty() || geo.country != country)) {
    return;
  }
  const auto fill = [this](Dimension dimension, std::string_view value, std::string_view& to) {
    if (to.empty() && canonical(dimension, value, scratch)) {
      to = pool.add(scratch);
    }
  };
  geo.country = country;
  fill(Dimension::kRegion, found.region, geo.region);
  fill(Dimension::kMetro, found.metro, geo.metro);
  fill(Dimension::kZip, found.zip, geo.zip);
  if (!geo.has_point && found.has_point) {
    geo.lat = found.lat;
    geo.lon = found.lon;
    geo.has_point = true;
  }
}

}  // namespace spillway::bidder
