#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "bidder/advertiser_blocks.h"
#include "bidder/model.h"
#include "bidder/targeting_index.h"
#include "bidder/time_zone.h"

namespace spillway::bidder {

/// A kind of row.
enum class RowKind : uint8_t { kAdvertiser, kCampaign, kLineItem, kCreative };
inline constexpr size_t kRowKinds = 4;

[[nodiscard]] std::string_view to_string(RowKind kind);

/// One thing wrong with one row.
struct Problem {
  RowKind kind = RowKind::kAdvertiser;
  int64_t id = 0;
  std::string field;    ///< "time_zone", "targeting.country.include", "caps".
  std::string message;  ///< "must not be negative"
  std::string value;    ///< As it stands in the row, cut to 100 bytes.

  bool operator==(const Problem&) const = default;
};

/// Everything wrong with `rows`, in order of kind and row: ids that are no positive number or that
/// another row of the kind has, rows whose parent is not there, money that is negative, an end
/// before its start, unknown time zones and codes, circles that are none, caps named twice, values
/// that are none of their dimension, creatives without size, duration, type or markup. A row that
/// is not active is checked like any other. `zones`: those known beside UTC.
[[nodiscard]] std::vector<Problem> check_rows(const CatalogRows& rows,
                                              std::span<const TimeZone> zones);

/// What a unit of a currency is worth, for the order of line items alone.
struct Worth {
  base::Currency currency;
  double units_ratio = 1;  ///< Of the catalog's common currency, whichever that is.
};

/// A line item ready to serve, its campaign's and advertiser's terms resolved.
struct Item {
  int64_t id = 0;
  uint32_t campaign = 0;        ///< Index in Catalog::campaigns().
  uint32_t advertiser = 0;      ///< Index in Catalog::advertisers().
  uint32_t creative = 0;        ///< Index of its first creative.
  uint32_t creatives = 0;       ///< How many.
  uint32_t hours = kAlways;     ///< Index of its day parts.
  uint32_t zone = 0;            ///< Index in Catalog::zones().
  int64_t start_s = INT64_MIN;  ///< Serves from here,
  int64_t end_s = INT64_MAX;    ///< and before here: its flight and its campaign's.
  uint8_t media = 0xf;          ///< Set of 1 << Media that its lists allow.
  bool sizes_restricted = false;
  bool deals_only = false;  ///< Its lists include deals: it serves under one of them or not at all.

  static constexpr uint32_t kAlways = 0xffffffff;
};

/// What a catalog left out, and why.
struct LeftOut {
  std::array<size_t, kRowKinds> broken{};      ///< Rows with a problem.
  std::array<size_t, kRowKinds> beneath{};     ///< Rows without, under one that was left out.
  std::array<size_t, kRowKinds> not_active{};  ///< Paused or archived, or under such a row.

  bool operator==(const LeftOut&) const = default;
};

/// An immutable, compiled snapshot of a catalog: only what may serve, line items in order of value
/// (the most their campaign ever bids, descending; ties by id, ascending), so that the first ones
/// that match are the best ones. A row with a problem is left out with everything below it, and
/// counted: what cannot be read never widens what is shown.
///
/// Any thread may read it. Memory: the rows, and the index (see there). Building costs about 10 us
/// a line item, off the request path.
class Catalog {
 public:
  Catalog() = default;

  /// `version` tells snapshots apart: two catalogs that one Retrieval ever sees must differ in it.
  /// Currencies that are not in `worths` are worth 1.
  Catalog(const CatalogRows& rows, std::vector<TimeZone> zones, uint64_t version,
          std::span<const Worth> worths = {});

  [[nodiscard]] uint64_t version() const { return version_; }

  /// Line items in order of value; positions in here are what an index and candidates speak of.
  [[nodiscard]] std::span<const Item> items() const { return items_; }

  [[nodiscard]] std::span<const Campaign> campaigns() const { return campaigns_; }

  [[nodiscard]] std::span<const Advertiser> advertisers() const { return advertisers_; }

  /// All creatives, those of one line item side by side, by id. Types and languages are lower case.
  [[nodiscard]] std::span<const Creative> creatives() const { return creatives_; }

  [[nodiscard]] std::span<const Creative> creatives_of(const Item& item) const {
    return std::span(creatives_).subspan(item.creative, item.creatives);
  }

  [[nodiscard]] const Campaign& campaign_of(const Item& item) const {
    return campaigns_[item.campaign];
  }

  [[nodiscard]] const Advertiser& advertiser_of(const Item& item) const {
    return advertisers_[item.advertiser];
  }

  /// The advertiser of a campaign, by index.
  [[nodiscard]] uint32_t advertiser_of_campaign(uint32_t campaign) const {
    return campaign_advertiser_[campaign];
  }

  [[nodiscard]] const TimeZone& zone_of(const Item& item) const { return zones_[item.zone]; }

  /// The time zone of an advertiser, by index: for days of budgets and calendar caps.
  [[nodiscard]] const TimeZone& zone_of_advertiser(uint32_t advertiser) const {
    return zones_[advertiser_zone_[advertiser]];
  }

  [[nodiscard]] const DayParts& hours(uint32_t index) const { return hours_[index]; }

  [[nodiscard]] std::span<const TimeZone> zones() const { return zones_; }

  /// Index of a campaign or line item by its id; for notices, off the hot path of a bid. Cost: one
  /// binary search.
  [[nodiscard]] std::optional<uint32_t> find_campaign(int64_t id) const;
  [[nodiscard]] std::optional<uint32_t> find_item(int64_t id) const;

  [[nodiscard]] const TargetingIndex& index() const { return index_; }

  [[nodiscard]] const AdvertiserBlocks& blocks() const { return blocks_; }

  [[nodiscard]] const LeftOut& left_out() const { return left_out_; }

 private:
  friend class CatalogBuilder;

  uint64_t version_ = 0;
  std::vector<Item> items_;
  std::vector<Campaign> campaigns_;  ///< By id.
  std::vector<uint32_t> campaign_advertiser_;
  std::vector<Advertiser> advertisers_;  ///< By id.
  std::vector<uint32_t> advertiser_zone_;
  std::vector<Creative> creatives_;
  std::vector<DayParts> hours_;
  std::vector<TimeZone> zones_;
  std::vector<uint32_t> items_by_id_;
  TargetingIndex index_;
  AdvertiserBlocks blocks_;
  LeftOut left_out_;
};

}  // namespace spillway::bidder
