#include "bidder/targeting_index.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bidder/canonical.h"
#include "bidder/model.h"
#include "bidder/value_table.h"

namespace spillway::bidder {

namespace {

constexpr double kEarthKm = 6371.0088;  // Mean radius.
constexpr double kDegree = std::numbers::pi / 180;
constexpr uint32_t kCellsLat = 180;
constexpr uint32_t kCellsLon = 360;

uint32_t cell_of(double lat, double lon) {
  const auto row = static_cast<int>(std::floor(lat + 90));
  const auto column = static_cast<int>(std::floor(lon + 180)) % static_cast<int>(kCellsLon);
  const auto wrapped =
      static_cast<uint32_t>(column < 0 ? column + static_cast<int>(kCellsLon) : column);
  return static_cast<uint32_t>(std::clamp(row, 0, static_cast<int>(kCellsLat) - 1)) * kCellsLon +
         wrapped;
}

bool test(const std::vector<uint64_t>& bits, uint32_t item) {
  return !bits.empty() && (bits[item / 64] >> (item % 64) & 1U) != 0;
}

}  // namespace

/// Fills an index from its rows.
class TargetingIndexBuilder {
 public:
  TargetingIndexBuilder(TargetingIndex& out, std::span<const TargetingIndex::Row> rows)
      : out_(out), rows_(rows) {
    constexpr size_t kChunk = 512;  // Eight words.
    out_.size_ = rows.size();
    out_.words_ = (rows.size() + kChunk - 1) / kChunk * (kChunk / 64);
  }

  void build() {
    for (size_t i = 0; i < kDimensions; ++i) {
      dimension(static_cast<Dimension>(i));
    }
    circles();
    offers();
  }

 private:
  using Members = std::vector<std::vector<uint32_t>>;  // Line items by value, ascending.

  void set(std::vector<uint64_t>& bits, uint32_t item) const {
    if (bits.empty()) {
      bits.resize(out_.words_);
    }
    bits[item / 64] |= uint64_t{1} << (item % 64);
  }

  static void add(Members& members, uint32_t value, uint32_t item) {
    if (value >= members.size()) {
      members.resize(value + 1);
    }
    if (members[value].empty() || members[value].back() != item) {
      members[value].push_back(item);
    }
  }

  Posting sparse(const std::vector<uint32_t>& numbers) {
    const Posting out{.begin = static_cast<uint32_t>(out_.sparse_.size()),
                      .count = static_cast<uint32_t>(numbers.size())};
    out_.sparse_.insert(out_.sparse_.end(), numbers.begin(), numbers.end());
    return out;
  }

  Posting posting(const std::vector<uint32_t>& items) {
    constexpr size_t kDenseShare = 256;
    if (items.size() <= rows_.size() / kDenseShare) {
      return sparse(items);
    }
    Posting out{.count = static_cast<uint32_t>(items.size()), .dense = true};
    out.begin = static_cast<uint32_t>(out_.dense_.size());
    out_.dense_.resize(out_.dense_.size() + out_.words_);
    for (const uint32_t item : items) {
      out_.dense_[out.begin + item / 64] |= uint64_t{1} << (item % 64);
    }
    return out;
  }

  void postings(Members& members, size_t values, std::vector<Posting>& out) {
    members.resize(values);
    out.reserve(values);
    for (const std::vector<uint32_t>& items : members) {
      out.push_back(posting(items));
    }
  }

  /// Notes what kind of lists a line item has.
  void restriction(DimensionIndex& index, uint32_t item, bool includes, bool excludes) const {
    index.restricts = index.restricts || includes || excludes;
    index.excludes = index.excludes || excludes;
    if (!includes) {
      set(excludes ? index.exclude_only : index.open, item);
    }
    if (excludes) {
      set(index.has_exclude, item);
    }
  }

  void dimension(Dimension dimension);
  void circles();
  void circle(uint32_t item, const Radius& radius);
  void offers();

  TargetingIndex& out_;
  std::span<const TargetingIndex::Row> rows_;
  std::string text_;
  Members cells_;
};

void TargetingIndexBuilder::dimension(Dimension dimension) {
  DimensionIndex& index = out_.dimensions_[static_cast<size_t>(dimension)];
  Members include;
  Members exclude;
  const auto fill = [&](const std::vector<std::string>& list, Members& members, uint32_t item) {
    for (const std::string& value : list) {
      if (canonical(dimension, value, text_)) {
        add(members, index.values.insert(text_), item);
      }
    }
  };
  for (uint32_t item = 0; item < rows_.size(); ++item) {
    const Lists& lists = rows_[item].targeting->of(dimension);
    restriction(index, item, !lists.include.empty(), !lists.exclude.empty());
    fill(lists.include, include, item);
    fill(lists.exclude, exclude, item);
  }
  postings(include, index.values.size(), index.include);
  postings(exclude, index.values.size(), index.exclude);
  if (!index.restricts) {
    index.open = {};
  }
}

void TargetingIndexBuilder::circles() {
  for (uint32_t item = 0; item < rows_.size(); ++item) {
    const std::vector<Radius>& radii = rows_[item].targeting->radii;
    const auto excludes = static_cast<size_t>(std::ranges::count(radii, true, &Radius::exclude));
    restriction(out_.radii_, item, excludes < radii.size(), excludes > 0);
    for (const Radius& radius : radii) {
      circle(item, radius);
    }
  }
  for (const std::vector<uint32_t>& circles : cells_) {
    out_.cell_circles_.push_back(sparse(circles));
  }
}

void TargetingIndexBuilder::circle(uint32_t item, const Radius& radius) {
  const double angle = std::min(radius.km / kEarthKm, std::numbers::pi);
  const double half = std::sin(angle / 2);
  const auto number = static_cast<uint32_t>(out_.circles_.size());
  out_.circles_.push_back({.item = item,
                           .exclude = radius.exclude,
                           .lat = radius.lat * kDegree,
                           .lon = radius.lon * kDegree,
                           .cos_lat = std::cos(radius.lat * kDegree),
                           .half_chord2 = angle < std::numbers::pi ? half * half : 2});
  constexpr double kSlack = 0.01;  // Degrees; what rounding may move.
  constexpr double kWide = 5;
  constexpr double kNearPole = 80;
  const double reach = angle / kDegree + kSlack;
  if (reach > kWide || std::abs(radius.lat) + reach > kNearPole) {
    out_.wide_.push_back(number);
    return;
  }
  const double reach_lon = reach / std::cos((std::abs(radius.lat) + reach) * kDegree) + kSlack;
  const auto whole = [](double degrees) { return static_cast<int>(std::floor(degrees)); };
  for (int lat = whole(radius.lat - reach); lat <= whole(radius.lat + reach); ++lat) {
    for (int lon = whole(radius.lon - reach_lon); lon <= whole(radius.lon + reach_lon); ++lon) {
      const auto next = static_cast<uint32_t>(cells_.size());
      add(cells_, out_.cells_.insert(cell_of(lat, lon), next), number);
    }
  }
}

void TargetingIndexBuilder::offers() {
  Members media(out_.media_.size());
  Members sizes;
  for (uint32_t item = 0; item < rows_.size(); ++item) {
    const TargetingIndex::Offer& offer = rows_[item].offer;
    for (uint32_t medium = 0; medium < media.size(); ++medium) {
      if ((offer.media >> medium & 1U) != 0) {
        add(media, medium, item);
      }
    }
    for (const uint32_t size : offer.banner_sizes) {
      const auto next = static_cast<uint32_t>(sizes.size());
      add(sizes, out_.banner_sizes_.insert(size, next), item);
    }
  }
  for (size_t medium = 0; medium < media.size(); ++medium) {
    out_.media_[medium] = posting(media[medium]);
  }
  postings(sizes, sizes.size(), out_.banners_);
}

TargetingIndex::TargetingIndex(std::span<const Row> rows) {
  TargetingIndexBuilder(*this, rows).build();
}

std::span<const uint32_t> TargetingIndex::circles_near(double lat, double lon) const {
  const uint32_t cell = cells_.find(cell_of(lat, lon));
  return cell == kNoValue ? std::span<const uint32_t>{} : numbers_of(cell_circles_[cell]);
}

const Posting* TargetingIndex::offer(Media medium) const {
  const Posting& posting = media_[static_cast<size_t>(medium)];
  return posting.count == 0 ? nullptr : &posting;
}

const Posting* TargetingIndex::banner_offer(uint32_t size_key) const {
  const uint32_t at = banner_sizes_.find(size_key);
  return at == kNoValue ? nullptr : &banners_[at];
}

bool TargetingIndex::has(const Posting& posting, uint32_t item) const {
  if (posting.dense) {
    return (words_of(posting)[item / 64] >> (item % 64) & 1U) != 0;
  }
  return std::ranges::binary_search(numbers_of(posting), item);
}

bool TargetingIndex::allows(Dimension dimension, uint32_t item, std::string_view value) const {
  const DimensionIndex& index = of(dimension);
  if (!index.restricts || test(index.open, item)) {
    return true;
  }
  if (value.empty()) {
    return false;
  }
  const uint32_t at = index.values.find(value);
  const bool included =
      test(index.exclude_only, item) || (at != kNoValue && has(index.include[at], item));
  return included && (at == kNoValue || !has(index.exclude[at], item));
}

size_t TargetingIndex::bytes() const {
  size_t words = dense_.size();
  for (const DimensionIndex& index : dimensions_) {
    words += index.open.size() + index.exclude_only.size() + index.has_exclude.size();
  }
  return words * sizeof(uint64_t) + sparse_.size() * sizeof(uint32_t) +
         circles_.size() * sizeof(Circle);
}

}  // namespace spillway::bidder
