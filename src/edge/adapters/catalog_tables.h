#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "bidder/model.h"

namespace spillway::adapters {

/// A catalog as flat tables: one list of columns a table serves databases, CSV and JSON alike.

/// A value of a column: none, a whole number, a number or a text.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

enum class Side : uint8_t { kInclude, kExclude };

/// A cap of a campaign.
struct CapRow {
  int64_t campaign = 0;
  bidder::CapScope scope = bidder::CapScope::kCampaign;
  bidder::CapWindow period = bidder::CapWindow::kDay;
  bidder::CapKind kind = bidder::CapKind::kCalendar;
  uint32_t most = 0;
};

/// A value of a line item's targeting.
struct ValueRow {
  int64_t line_item = 0;
  bidder::Dimension dimension = bidder::Dimension::kSegment;
  Side side = Side::kInclude;
  std::string value{};
};

/// A circle of a line item's targeting.
struct RadiusRow {
  int64_t line_item = 0;
  double lat = 0;
  double lon = 0;
  double km = 0;
  Side side = Side::kInclude;
};

/// A column of a table of `Row`s.
template <typename Row>
struct Column {
  std::string_view name;
  bool list = false;     ///< A list: a comma-separated text here, an array in JSON.
  bool numbers = false;  ///< What is in it are whole numbers.
  Cell (*get)(const Row& row) = nullptr;
  /// Takes a value; numbers may come as text. None leaves the default. The problem, or "".
  std::string (*set)(Row& row, const Cell& cell) = nullptr;
};

template <typename Row>
struct Table {
  std::string_view name;
  std::string_view order_by;
  std::span<const Column<Row>> columns;  ///< The first is the row's id, or its parent's.
};

/// The table of a kind of row: Advertiser, Campaign, CapRow, LineItem, ValueRow, RadiusRow,
/// Creative. Static.
template <typename Row>
[[nodiscard]] const Table<Row>& table();

/// Visits the seven tables, parents first: visit(const Table<Row>&).
template <typename Visit>
void for_each_table(const Visit& visit) {
  visit(table<bidder::Advertiser>());
  visit(table<bidder::Campaign>());
  visit(table<CapRow>());
  visit(table<bidder::LineItem>());
  visit(table<ValueRow>());
  visit(table<RadiusRow>());
  visit(table<bidder::Creative>());
}

/// The parts of one row that are rows of a table of their own: visit(const CapRow&),
/// visit(const ValueRow&), visit(const RadiusRow&).
template <typename Visit>
void for_each_cap(const bidder::Campaign& campaign, const Visit& visit) {
  for (const auto& cap : campaign.caps) {
    visit(CapRow{campaign.id, cap.scope, cap.window, cap.kind, cap.most});
  }
}

template <typename Visit>
void for_each_value(const bidder::LineItem& item, const Visit& visit) {
  for (size_t i = 0; i < bidder::kDimensions; ++i) {
    ValueRow row{.line_item = item.id, .dimension = static_cast<bidder::Dimension>(i)};
    const bidder::Lists& lists = item.targeting.of(row.dimension);
    for (const auto& [side, values] :
         {std::pair(Side::kInclude, &lists.include), std::pair(Side::kExclude, &lists.exclude)}) {
      row.side = side;
      for (const std::string& value : *values) {
        row.value = value;
        visit(row);
      }
    }
  }
}

template <typename Visit>
void for_each_radius(const bidder::LineItem& item, const Visit& visit) {
  for (const auto& radius : item.targeting.radii) {
    visit(RadiusRow{item.id, radius.lat, radius.lon, radius.km,
                    radius.exclude ? Side::kExclude : Side::kInclude});
  }
}

/// Rows of a catalog that are rows of a table as they are.
inline const auto& rows_of(const bidder::CatalogRows& rows, const bidder::Advertiser* /*kind*/) {
  return rows.advertisers;
}

inline const auto& rows_of(const bidder::CatalogRows& rows, const bidder::Campaign* /*kind*/) {
  return rows.campaigns;
}

inline const auto& rows_of(const bidder::CatalogRows& rows, const bidder::LineItem* /*kind*/) {
  return rows.line_items;
}

inline const auto& rows_of(const bidder::CatalogRows& rows, const bidder::Creative* /*kind*/) {
  return rows.creatives;
}

/// Visits all rows of a table: visit(const Row&).
template <typename Row, typename Visit>
void for_each_row(const bidder::CatalogRows& rows, const Visit& visit) {
  if constexpr (std::is_same_v<Row, CapRow>) {
    std::ranges::for_each(rows.campaigns, [&](const auto& row) { for_each_cap(row, visit); });
  } else if constexpr (std::is_same_v<Row, ValueRow>) {
    std::ranges::for_each(rows.line_items, [&](const auto& row) { for_each_value(row, visit); });
  } else if constexpr (std::is_same_v<Row, RadiusRow>) {
    std::ranges::for_each(rows.line_items, [&](const auto& row) { for_each_radius(row, visit); });
  } else {
    std::ranges::for_each(rows_of(rows, static_cast<const Row*>(nullptr)), visit);
  }
}

/// How many rows all tables have together.
[[nodiscard]] size_t count_rows(const bidder::CatalogRows& rows);

/// Puts flat rows together again. Rows of caps, values and radii come after those they belong to.
class CatalogAssembly {
 public:
  /// The problem ("there is no line item 7"), or "".
  std::string add(bidder::Advertiser row);
  std::string add(bidder::Campaign row);
  std::string add(bidder::LineItem row);
  std::string add(bidder::Creative row);
  std::string add(const CapRow& row);
  std::string add(ValueRow row);
  std::string add(const RadiusRow& row);

  /// In order (see bidder::put_in_order()).
  [[nodiscard]] bidder::CatalogRows take();

 private:
  bidder::CatalogRows rows_;
  std::unordered_map<int64_t, size_t> campaigns_;
  std::unordered_map<int64_t, size_t> line_items_;
};

/// One row of a table from cells in the order of its columns. The problem ("status: \"on\" is none
/// of active, paused, archived"), or "".
template <typename Row>
[[nodiscard]] std::string read_row(std::span<const Cell> cells, Row& row) {
  const auto& columns = table<Row>().columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (std::string problem = columns[i].set(row, cells[i]); !problem.empty()) {
      return std::string(columns[i].name) + ": " + problem;
    }
  }
  return {};
}

}  // namespace spillway::adapters
