#include "adapters/catalog_tables.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "adapters/catalog_cells.h"
#include "bidder/model.h"
#include "bidder/row_order.h"

namespace spillway::adapters {

namespace {

using bidder::Advertiser;
using bidder::Campaign;
using bidder::Creative;
using bidder::LineItem;

template <typename Pointer>
struct MemberOf;

template <typename Row, typename Value>
struct MemberOf<Value Row::*> {
  using RowType = Row;
  using ValueType = Value;
};

/// The column of a member of a row.
template <auto Member>
constexpr auto column(std::string_view name) {
  using Row = typename MemberOf<decltype(Member)>::RowType;
  using Value = typename MemberOf<decltype(Member)>::ValueType;
  constexpr bool kNumbers = std::is_same_v<Value, std::vector<uint16_t>>;
  return Column<Row>{.name = name,
                     .list = kNumbers || std::is_same_v<Value, std::vector<std::string>>,
                     .numbers = kNumbers,
                     .get = [](const Row& row) { return cells::write(row.*Member); },
                     .set =
                         [](Row& row, const Cell& cell) {
                           return std::holds_alternative<std::monostate>(cell)
                                      ? std::string()
                                      : cells::read(cell, row.*Member);
                         }};
}

constexpr std::array kAdvertiser{column<&Advertiser::id>("id"),
                                 column<&Advertiser::name>("name"),
                                 column<&Advertiser::domain>("domain"),
                                 column<&Advertiser::categories>("categories"),
                                 column<&Advertiser::time_zone>("time_zone"),
                                 column<&Advertiser::status>("status")};

constexpr std::array kCampaign{column<&Campaign::id>("id"),
                               column<&Campaign::advertiser>("advertiser"),
                               column<&Campaign::name>("name"),
                               column<&Campaign::status>("status"),
                               column<&Campaign::start_s>("start_s"),
                               column<&Campaign::end_s>("end_s"),
                               column<&Campaign::currency>("currency"),
                               column<&Campaign::goal>("goal"),
                               column<&Campaign::goal_value_micros>("goal_value_micros"),
                               column<&Campaign::most>("most_cpm_micros"),
                               column<&Campaign::margin_ratio>("margin_ratio"),
                               column<&Campaign::daily_micros>("daily_micros"),
                               column<&Campaign::lifetime_micros>("lifetime_micros"),
                               column<&Campaign::pacing>("pacing"),
                               column<&Campaign::cap_failure>("cap_failure")};

constexpr std::array kCap{column<&CapRow::campaign>("campaign"), column<&CapRow::scope>("scope"),
                          column<&CapRow::period>("period"), column<&CapRow::kind>("kind"),
                          column<&CapRow::most>("most")};

// The hours are a member of a member.
constexpr Column<LineItem> kHours{
    .name = "hours",
    .get = [](const LineItem& row) { return cells::write(row.targeting.hours); },
    .set =
        [](LineItem& row, const Cell& cell) {
          return std::holds_alternative<std::monostate>(cell)
                     ? std::string()
                     : cells::read(cell, row.targeting.hours);
        }};

constexpr std::array kLineItem{
    column<&LineItem::id>("id"),         column<&LineItem::campaign>("campaign"),
    column<&LineItem::status>("status"), column<&LineItem::start_s>("start_s"),
    column<&LineItem::end_s>("end_s"),   kHours};

constexpr std::array kValue{column<&ValueRow::line_item>("line_item"),
                            column<&ValueRow::dimension>("dimension"),
                            column<&ValueRow::side>("side"), column<&ValueRow::value>("value")};

constexpr std::array kRadius{column<&RadiusRow::line_item>("line_item"),
                             column<&RadiusRow::lat>("lat"), column<&RadiusRow::lon>("lon"),
                             column<&RadiusRow::km>("km"), column<&RadiusRow::side>("side")};

constexpr std::array kCreative{column<&Creative::id>("id"),
                               column<&Creative::line_item>("line_item"),
                               column<&Creative::status>("status"),
                               column<&Creative::media>("media"),
                               column<&Creative::w>("w"),
                               column<&Creative::h>("h"),
                               column<&Creative::duration_s>("duration_s"),
                               column<&Creative::mime>("mime"),
                               column<&Creative::markup>("markup"),
                               column<&Creative::click_url>("click_url"),
                               column<&Creative::attributes>("attributes"),
                               column<&Creative::apis>("apis"),
                               column<&Creative::protocols>("protocols"),
                               column<&Creative::language>("language"),
                               column<&Creative::secure>("secure")};

constexpr Table<Advertiser> kAdvertiserTable{"advertiser", "id", kAdvertiser};
constexpr Table<Campaign> kCampaignTable{"campaign", "id", kCampaign};
constexpr Table<CapRow> kCapTable{"campaign_cap", "campaign", kCap};
constexpr Table<LineItem> kLineItemTable{"line_item", "id", kLineItem};
constexpr Table<ValueRow> kValueTable{"line_item_value", "line_item", kValue};
constexpr Table<RadiusRow> kRadiusTable{"line_item_radius", "line_item", kRadius};
constexpr Table<Creative> kCreativeTable{"creative", "id", kCreative};

std::string nobody(std::string_view kind, int64_t id) {
  return "there is no " + std::string(kind) + " " + std::to_string(id);
}

}  // namespace

template <>
const Table<Advertiser>& table() {
  return kAdvertiserTable;
}

template <>
const Table<Campaign>& table() {
  return kCampaignTable;
}

template <>
const Table<CapRow>& table() {
  return kCapTable;
}

template <>
const Table<LineItem>& table() {
  return kLineItemTable;
}

template <>
const Table<ValueRow>& table() {
  return kValueTable;
}

template <>
const Table<RadiusRow>& table() {
  return kRadiusTable;
}

template <>
const Table<Creative>& table() {
  return kCreativeTable;
}

size_t count_rows(const bidder::CatalogRows& rows) {
  size_t count = 0;
  for_each_table([&]<typename Row>(const Table<Row>&) {
    for_each_row<Row>(rows, [&count](const Row&) { ++count; });
  });
  return count;
}

std::string CatalogAssembly::add(Advertiser row) {
  rows_.advertisers.push_back(std::move(row));
  return {};
}

std::string CatalogAssembly::add(Campaign row) {
  campaigns_.try_emplace(row.id, rows_.campaigns.size());
  rows_.campaigns.push_back(std::move(row));
  return {};
}

std::string CatalogAssembly::add(LineItem row) {
  line_items_.try_emplace(row.id, rows_.line_items.size());
  rows_.line_items.push_back(std::move(row));
  return {};
}

std::string CatalogAssembly::add(Creative row) {
  rows_.creatives.push_back(std::move(row));
  return {};
}

std::string CatalogAssembly::add(const CapRow& row) {
  const auto found = campaigns_.find(row.campaign);
  if (found == campaigns_.end()) {
    return nobody("campaign", row.campaign);
  }
  rows_.campaigns[found->second].caps.push_back(
      {.scope = row.scope, .window = row.period, .kind = row.kind, .most = row.most});
  return {};
}

std::string CatalogAssembly::add(ValueRow row) {
  const auto found = line_items_.find(row.line_item);
  if (found == line_items_.end()) {
    return nobody("line item", row.line_item);
  }
  bidder::Lists& lists = rows_.line_items[found->second].targeting.of(row.dimension);
  (row.side == Side::kInclude ? lists.include : lists.exclude).push_back(std::move(row.value));
  return {};
}

std::string CatalogAssembly::add(const RadiusRow& row) {
  const auto found = line_items_.find(row.line_item);
  if (found == line_items_.end()) {
    return nobody("line item", row.line_item);
  }
  rows_.line_items[found->second].targeting.radii.push_back(
      {.lat = row.lat, .lon = row.lon, .km = row.km, .exclude = row.side == Side::kExclude});
  return {};
}

bidder::CatalogRows CatalogAssembly::take() {
  bidder::put_in_order(rows_);
  campaigns_.clear();
  line_items_.clear();
  return std::move(rows_);
}

}  // namespace spillway::adapters
