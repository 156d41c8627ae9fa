#include "bidder/catalog.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bidder/advertiser_blocks.h"
#include "bidder/canonical.h"
#include "bidder/model.h"
#include "bidder/row_checks.h"
#include "bidder/targeting_index.h"
#include "bidder/time_zone.h"

namespace spillway::bidder {

/// Compiles rows into a catalog, kind by kind from the top: what is left out above is missing
/// below.
class CatalogBuilder {
 public:
  CatalogBuilder(Catalog& out, const CatalogRows& rows, std::span<const Worth> worths)
      : out_(out), rows_(rows), worths_(worths), checked_(check(rows, out.zones_)) {}

  void build() {
    advertisers();
    campaigns();
    line_items();
    creatives();
    index();
  }

 private:
  /// Index of a row in the catalog by its id. Rows that are left out stand in it too, so that what
  /// is beneath them is counted for what it is.
  enum class Fate : uint8_t { kKept, kBroken, kNotActive };

  struct Place {
    uint32_t index = 0;
    Fate fate = Fate::kBroken;
  };

  using Places = std::unordered_map<int64_t, Place>;

  /// Rows of a kind by id.
  template <typename Row>
  static std::vector<uint32_t> by_id(const std::vector<Row>& rows) {
    std::vector<uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](uint32_t row) { return rows[row].id; });
    return order;
  }

  /// What becomes of a row, counted. `above`: what became of its parent.
  Fate fate(RowKind kind, uint32_t row, Status status, Fate above) {
    const auto k = static_cast<size_t>(kind);
    if (checked_.broken[k][row]) {
      ++out_.left_out_.broken[k];
      return Fate::kBroken;
    }
    if (above == Fate::kBroken) {
      ++out_.left_out_.beneath[k];
      return Fate::kBroken;
    }
    if (above == Fate::kNotActive || status != Status::kActive) {
      ++out_.left_out_.not_active[k];
      return Fate::kNotActive;
    }
    return Fate::kKept;
  }

  void advertisers();
  void campaigns();
  void line_items();
  void creatives();
  void index();
  void keep_lists(const Targeting& targeting, Item& item);
  [[nodiscard]] double value_of(const Campaign& campaign) const;

  Catalog& out_;
  const CatalogRows& rows_;
  std::span<const Worth> worths_;
  CheckedRows checked_;
  Places advertiser_places_;
  Places campaign_places_;
  Places item_places_;
  std::unordered_map<DayParts, uint32_t> hours_;
  std::vector<uint32_t> item_rows_;  ///< Row of each kept line item, in order of value.
};

void CatalogBuilder::advertisers() {
  for (const uint32_t i : by_id(rows_.advertisers)) {
    const Advertiser& row = rows_.advertisers[i];
    const Place place{.index = static_cast<uint32_t>(out_.advertisers_.size()),
                      .fate = fate(RowKind::kAdvertiser, i, row.status, Fate::kKept)};
    advertiser_places_[row.id] = place;
    if (place.fate != Fate::kKept) {
      continue;
    }
    Advertiser& kept = out_.advertisers_.emplace_back(row);
    canonical_domain(row.domain, kept.domain);
    for (size_t c = 0; c < kept.categories.size(); ++c) {
      canonical(Dimension::kCategory, row.categories[c], kept.categories[c]);
    }
    const auto zone = std::ranges::find(out_.zones_, row.time_zone, &TimeZone::name);
    out_.advertiser_zone_.push_back(static_cast<uint32_t>(zone - out_.zones_.begin()));
  }
}

void CatalogBuilder::campaigns() {
  for (const uint32_t i : by_id(rows_.campaigns)) {
    const Campaign& row = rows_.campaigns[i];
    const Place& above = advertiser_places_[row.advertiser];
    const Place place{.index = static_cast<uint32_t>(out_.campaigns_.size()),
                      .fate = fate(RowKind::kCampaign, i, row.status, above.fate)};
    campaign_places_[row.id] = place;
    if (place.fate == Fate::kKept) {
      out_.campaigns_.push_back(row);
      out_.campaign_advertiser_.push_back(above.index);
    }
  }
}

double CatalogBuilder::value_of(const Campaign& campaign) const {
  auto micros = static_cast<double>(campaign.most.micros);
  if (campaign.goal == Goal::kCpm) {
    micros = std::min(
        micros, static_cast<double>(campaign.goal_value_micros) * (1 - campaign.margin_ratio));
  }
  const auto worth = std::ranges::find(worths_, campaign.currency, &Worth::currency);
  return worth == worths_.end() ? micros : micros * worth->units_ratio;
}

void CatalogBuilder::line_items() {
  std::vector<double> values;
  values.reserve(out_.campaigns_.size());
  for (const Campaign& campaign : out_.campaigns_) {
    values.push_back(value_of(campaign));
  }
  std::vector<uint32_t> campaign_of(rows_.line_items.size());
  for (const uint32_t i : by_id(rows_.line_items)) {
    const LineItem& row = rows_.line_items[i];
    const Place& above = campaign_places_[row.campaign];
    const Fate kept = fate(RowKind::kLineItem, i, row.status, above.fate);
    item_places_[row.id].fate = kept;
    if (kept == Fate::kKept) {
      campaign_of[i] = above.index;
      item_rows_.push_back(i);
    }
  }
  std::ranges::stable_sort(item_rows_, std::ranges::greater{},
                           [&](uint32_t row) { return values[campaign_of[row]]; });
  for (const uint32_t i : item_rows_) {
    const LineItem& row = rows_.line_items[i];
    const Campaign& campaign = out_.campaigns_[campaign_of[i]];
    item_places_[row.id].index = static_cast<uint32_t>(out_.items_.size());
    Item& item = out_.items_.emplace_back();
    item.id = row.id;
    item.campaign = campaign_of[i];
    item.advertiser = out_.campaign_advertiser_[item.campaign];
    item.zone = out_.advertiser_zone_[item.advertiser];
    item.start_s = std::max(row.start_s.value_or(INT64_MIN), campaign.start_s.value_or(INT64_MIN));
    item.end_s = std::min(row.end_s.value_or(INT64_MAX), campaign.end_s.value_or(INT64_MAX));
    keep_lists(row.targeting, item);
  }
  out_.items_by_id_.resize(out_.items_.size());
  std::iota(out_.items_by_id_.begin(), out_.items_by_id_.end(), 0U);
  std::ranges::sort(out_.items_by_id_, {}, [this](uint32_t item) { return out_.items_[item].id; });
}

void CatalogBuilder::keep_lists(const Targeting& targeting, Item& item) {
  if (targeting.hours) {
    const auto next = static_cast<uint32_t>(out_.hours_.size());
    const auto [known, is_new] = hours_.try_emplace(*targeting.hours, next);
    item.hours = known->second;
    if (is_new) {
      out_.hours_.push_back(*targeting.hours);
    }
  }
  item.sizes_restricted = targeting.of(Dimension::kSize).restricted();
  item.deals_only = !targeting.of(Dimension::kDeal).include.empty();
  const Lists& media = targeting.of(Dimension::kMedia);
  constexpr std::string_view kNames[] = {"banner", "video", "audio", "native"};
  std::string text;
  const auto has = [&text](const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::any_of(list, [&](const std::string& value) {
      return canonical(Dimension::kMedia, value, text) && text == name;
    });
  };
  for (size_t m = 0; m < std::size(kNames); ++m) {
    const bool allowed =
        (media.include.empty() || has(media.include, kNames[m])) && !has(media.exclude, kNames[m]);
    if (!allowed) {
      item.media = static_cast<uint8_t>(item.media & ~(1U << m));
    }
  }
}

void CatalogBuilder::creatives() {
  // By line item, then id.
  std::vector<std::pair<uint32_t, uint32_t>> kept;
  for (const uint32_t i : by_id(rows_.creatives)) {
    const Creative& row = rows_.creatives[i];
    const Place& above = item_places_[row.line_item];
    if (fate(RowKind::kCreative, i, row.status, above.fate) == Fate::kKept) {
      kept.emplace_back(above.index, i);
    }
  }
  std::ranges::stable_sort(kept, {}, &std::pair<uint32_t, uint32_t>::first);
  for (const auto& [item, i] : kept) {
    Item& owner = out_.items_[item];
    if (owner.creatives++ == 0) {
      owner.creative = static_cast<uint32_t>(out_.creatives_.size());
    }
    Creative& creative = out_.creatives_.emplace_back(rows_.creatives[i]);
    canonical(Dimension::kOs, rows_.creatives[i].mime, creative.mime);  // Lower case.
    canonical(Dimension::kLanguage, rows_.creatives[i].language, creative.language);
  }
}

void CatalogBuilder::index() {
  std::vector<TargetingIndex::Row> rows(item_rows_.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].targeting = &rows_.line_items[item_rows_[i]].targeting;
    for (const Creative& creative : out_.creatives_of(out_.items_[i])) {
      rows[i].offer.media =
          static_cast<uint8_t>(rows[i].offer.media | 1U << static_cast<unsigned>(creative.media));
      if (creative.media == Media::kBanner) {
        rows[i].offer.banner_sizes.push_back(size_key(creative.w, creative.h));
      }
    }
  }
  out_.index_ = TargetingIndex(rows);
  out_.blocks_ = AdvertiserBlocks(out_.advertisers_);
}

Catalog::Catalog(const CatalogRows& rows, std::vector<TimeZone> zones, uint64_t version,
                 std::span<const Worth> worths)
    : version_(version), zones_(std::move(zones)) {
  if (std::ranges::find(zones_, "UTC", &TimeZone::name) == zones_.end()) {
    zones_.emplace_back();
  }
  CatalogBuilder(*this, rows, worths).build();
}

std::optional<uint32_t> Catalog::find_campaign(int64_t id) const {
  const auto at = std::ranges::lower_bound(campaigns_, id, {}, &Campaign::id);
  return at != campaigns_.end() && at->id == id
             ? std::optional(static_cast<uint32_t>(at - campaigns_.begin()))
             : std::nullopt;
}

std::optional<uint32_t> Catalog::find_item(int64_t id) const {
  const auto at = std::ranges::lower_bound(items_by_id_, id, {},
                                           [this](uint32_t item) { return items_[item].id; });
  return at != items_by_id_.end() && items_[*at].id == id ? std::optional(*at) : std::nullopt;
}

}  // namespace spillway::bidder
