#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bidder/model.h"
#include "bidder/value_table.h"

namespace spillway::bidder {

/// A set of line items: a bitset when many, a sorted list when few.
struct Posting {
  uint32_t begin = 0;  ///< Into the index's words or numbers.
  uint32_t count = 0;  ///< Line items in it.
  bool dense = false;
};

/// The line items of one dimension, by value. Restrictions are explicit: `open` are those without
/// lists; the others match only what their lists say of a known value.
struct DimensionIndex {
  bool restricts = false;      ///< Some line item has a list; else it need not be looked at.
  std::vector<uint64_t> open;  ///< Without lists.
  std::vector<uint64_t> exclude_only;  ///< With `exclude` alone: match every value not in it.
  std::vector<uint64_t> has_exclude;   ///< With `exclude`.
  bool excludes = false;               ///< has_exclude is not empty.
  ValueTable values;
  std::vector<Posting> include;  ///< By value.
  std::vector<Posting> exclude;
};

/// A circle of one line item.
struct Circle {
  uint32_t item = 0;
  bool exclude = false;
  double lat = 0;  ///< Radians.
  double lon = 0;
  double cos_lat = 1;
  double half_chord2 = 0;  ///< sin^2 of half the radius' angle: within is haversine <= this.
};

/// What line items ask of a request, compiled: for every dimension bitsets over the line items in
/// order of value. Immutable, any thread; evaluated by a Retrieval.
///
/// Memory: 3 bits a dimension that restricts and line item; a value with more than 1/256 of the
/// line items has a bitset, others 4 bytes a line item.
class TargetingIndex {
 public:
  /// Bitsets are evaluated so many words at a time, in order of value, until enough is found.
  static constexpr size_t kBlockWords = 64;

  /// What a line item has to show, beside what it asks for.
  struct Offer {
    uint8_t media = 0;                   ///< Set of 1 << Media with a creative.
    std::vector<uint32_t> banner_sizes;  ///< size_key of banners.
  };

  struct Row {
    const Targeting* targeting = nullptr;
    Offer offer;
  };

  TargetingIndex() = default;

  /// `rows` in order of value, without problems (see check_rows).
  explicit TargetingIndex(std::span<const Row> rows);

  [[nodiscard]] size_t size() const { return size_; }

  /// Words of a bitset, a multiple of eight.
  [[nodiscard]] size_t words() const { return words_; }

  [[nodiscard]] const DimensionIndex& of(Dimension dimension) const {
    return dimensions_[static_cast<size_t>(dimension)];
  }

  /// Circles, as one more dimension without values.
  [[nodiscard]] const DimensionIndex& radii() const { return radii_; }

  /// Circles that may hold a point, by line item; more than do. Cost: one look-up.
  [[nodiscard]] std::span<const uint32_t> circles_near(double lat, double lon) const;

  /// Circles too large for the grid.
  [[nodiscard]] std::span<const uint32_t> wide_circles() const { return wide_; }

  [[nodiscard]] const Circle& circle(uint32_t index) const { return circles_[index]; }

  /// Line items with a creative of a medium; nullptr for none.
  [[nodiscard]] const Posting* offer(Media medium) const;

  /// Line items with a banner of this size; nullptr for none.
  [[nodiscard]] const Posting* banner_offer(uint32_t size_key) const;

  [[nodiscard]] const uint64_t* words_of(const Posting& posting) const {
    return dense_.data() + posting.begin;
  }

  [[nodiscard]] std::span<const uint32_t> numbers_of(const Posting& posting) const {
    return std::span(sparse_).subspan(posting.begin, posting.count);
  }

  /// Whether a line item's lists of one dimension let a value pass; for explanations and for the
  /// few that are left. Cost: two look-ups.
  [[nodiscard]] bool allows(Dimension dimension, uint32_t item, std::string_view value) const;

  /// Bytes of all postings and bitsets.
  [[nodiscard]] size_t bytes() const;

 private:
  friend class TargetingIndexBuilder;

  [[nodiscard]] bool has(const Posting& posting, uint32_t item) const;

  size_t size_ = 0;
  size_t words_ = 0;
  std::array<DimensionIndex, kDimensions> dimensions_;
  DimensionIndex radii_;
  std::vector<Circle> circles_;
  std::vector<uint32_t> wide_;
  NumberTable cells_;  ///< Cell of the grid -> its circles.
  std::vector<Posting> cell_circles_;
  std::array<Posting, 4> media_;
  NumberTable banner_sizes_;
  std::vector<Posting> banners_;
  std::vector<uint64_t> dense_;
  std::vector<uint32_t> sparse_;
};

/// A banner size as one number; sizes beyond 65535 have none (0).
[[nodiscard]] constexpr uint32_t size_key(int64_t w, int64_t h) {
  constexpr int64_t kMost = 0xffff;
  return w <= 0 || h <= 0 || w > kMost || h > kMost
             ? 0
             : static_cast<uint32_t>(w) << 16U | static_cast<uint32_t>(h);
}

}  // namespace spillway::bidder
