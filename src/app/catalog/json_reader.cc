#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "adapters/catalog_cells.h"
#include "adapters/catalog_tables.h"
#include "app/catalog/json_file.h"
#include "app/catalog/problems.h"
#include "app/config/nearest_name.h"
#include "bidder/model.h"
#include "bidder/model_text.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::app::catalog {

namespace {

using adapters::Cell;
using openrtb::Kind;
using openrtb::NodeId;

class JsonReader {
 public:
  JsonReader(std::string_view name, FileProblems& problems)
      : name_(name), problems_(problems), document_(kNodesMost) {}

  bidder::CatalogRows read(std::string_view text) {
    const openrtb::Padded padded(text);
    if (const auto walked = document_.walk(padded.view()); !walked) {
      problems_.add(name_ + ": not JSON near byte " + std::to_string(document_.failed_at()) + ": " +
                    std::string(to_string(walked.error())));
      return {};
    }
    if (!document_.is(document_.root(), Kind::kObject)) {
      problems_.add(name_ + ": not an object with advertisers, campaigns, line_items, creatives");
      return {};
    }
    known_members(document_.root(), {"advertisers", "campaigns", "line_items", "creatives"});
    rows_of<bidder::Advertiser>("advertisers", {}, [](NodeId, const bidder::Advertiser&) {});
    rows_of<bidder::Campaign>(
        "campaigns", {"caps"}, [this](NodeId node, const bidder::Campaign& row) {
          for_each_in(node, "caps",
                      [&](NodeId cap) { read_row(cap, adapters::CapRow{.campaign = row.id}, {}); });
        });
    rows_of<bidder::LineItem>("line_items", {"targeting", "radii"},
                              [this](NodeId node, const bidder::LineItem& row) {
                                read_targeting(document_.find(node, "targeting"), row.id);
                                for_each_in(node, "radii", [&](NodeId radius) {
                                  read_row(radius, adapters::RadiusRow{.line_item = row.id}, {});
                                });
                              });
    rows_of<bidder::Creative>("creatives", {}, [](NodeId, const bidder::Creative&) {});
    return assembly_.take();
  }

 private:
  static constexpr size_t kNodesMost = 200'000'000;

  using Names = std::vector<std::string>;

  void problem(NodeId node, std::string_view what) {
    const std::string path = document_.path_of(node);
    problems_.add(name_ + ": " + path + (path.empty() ? "" : ": ") + std::string(what));
  }

  void unknown(NodeId node, const std::string& name, const Names& known) {
    const std::string meant = nearest_name(name, known);
    problem(node, "unknown" + (meant.empty() ? std::string() : "; \"" + meant + "\" is meant?"));
  }

  void known_members(NodeId object, const Names& known) {
    for (const NodeId member : document_.children(object)) {
      const std::string name = document_.name(member);
      if (std::ranges::find(known, name) == known.end()) {
        unknown(member, name, known);
      }
    }
  }

  /// The elements of an array that may be absent.
  template <typename Visit>
  void for_each_in(NodeId object, std::string_view name, Visit visit) {
    const NodeId array = document_.find(object, name);
    if (array != openrtb::kAbsent && !document_.is(array, Kind::kArray)) {
      problem(array, "must be an array");
      return;
    }
    for (const NodeId element : document_.children(array)) {
      visit(element);
    }
  }

  template <typename Row, typename Visit>
  void rows_of(std::string_view name, const Names& beside, Visit visit) {
    for_each_in(document_.root(), name, [&](NodeId node) {
      if (const auto row = read_row(node, Row{}, beside)) {
        visit(node, *row);
      }
    });
  }

  /// Reads a row's members into it and adds it to the catalog; `beside`: members that are no
  /// columns.
  template <typename Row>
  std::optional<Row> read_row(NodeId node, Row row, const Names& beside) {
    if (!document_.is(node, Kind::kObject)) {
      problem(node, "must be an object");
      return std::nullopt;
    }
    const size_t before = problems_.count();
    const auto& columns = adapters::table<Row>().columns;
    for (const NodeId member : document_.children(node)) {
      const std::string name = document_.name(member);
      const auto column =
          std::ranges::find(columns, std::string_view(name), &adapters::Column<Row>::name);
      if (column != columns.end()) {
        read_member(member, *column, row);
      } else if (std::ranges::find(beside, name) == beside.end()) {
        Names known = beside;
        for (const auto& each : columns) {
          known.emplace_back(each.name);
        }
        unknown(member, name, known);
      }
    }
    if (problems_.count() == before) {
      if (const std::string why = assembly_.add(row); !why.empty()) {
        problem(node, why);
      }
    }
    return row;
  }

  template <typename Row>
  void read_member(NodeId member, const adapters::Column<Row>& column, Row& row) {
    const auto cell = cell_of(member, column.list);
    if (!cell) {
      problem(member, column.list ? "must be an array of texts or numbers, none with a comma"
                                  : "must be a text, a number or true or false");
      return;
    }
    if (const std::string why = column.set(row, *cell); !why.empty()) {
      problem(member, why);
    }
  }

  std::optional<Cell> cell_of(NodeId node, bool list) {
    switch (document_.kind(node)) {
      case Kind::kNull:
        return Cell(std::monostate{});
      case Kind::kString:
        return Cell(document_.string(node));
      case Kind::kTrue:
      case Kind::kFalse:
        return Cell(int64_t{document_.kind(node) == Kind::kTrue ? 1 : 0});
      case Kind::kNumber:
        return number_of(node);
      case Kind::kArray:
        return list ? list_of(node) : std::nullopt;
      case Kind::kObject:
        break;
    }
    return std::nullopt;
  }

  Cell number_of(NodeId node) {
    if (const auto whole = document_.integer(node)) {
      return *whole;
    }
    const std::string_view text = document_.raw(node);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} ? Cell(value) : Cell(std::string(text));
  }

  /// The elements with commas between, as columns have lists.
  std::optional<Cell> list_of(NodeId node) {
    std::string out;
    bool first = true;
    for (const NodeId element : document_.children(node)) {
      const auto cell = cell_of(element, false);
      const std::string text = cell ? adapters::cells::text_of(*cell) : ",";
      if (text.contains(',')) {
        return std::nullopt;
      }
      out.append(std::exchange(first, false) ? "" : ",").append(text);
    }
    return Cell(out);
  }

  void read_targeting(NodeId targeting, int64_t line_item) {
    if (targeting == openrtb::kAbsent) {
      return;
    }
    if (!document_.is(targeting, Kind::kObject)) {
      problem(targeting, "must be an object of dimensions");
      return;
    }
    for (const NodeId member : document_.children(targeting)) {
      const auto dimension = bidder::parse_name<bidder::Dimension>(document_.name(member));
      if (!dimension) {
        problem(member, "unknown; dimensions are " + bidder::names_of<bidder::Dimension>());
      } else if (!document_.is(member, Kind::kObject)) {
        problem(member, "must be an object with include, exclude or both");
      } else {
        known_members(member, {"include", "exclude"});
        read_values(member, "include", {line_item, *dimension, adapters::Side::kInclude});
        read_values(member, "exclude", {line_item, *dimension, adapters::Side::kExclude});
      }
    }
  }

  void read_values(NodeId lists, std::string_view side, adapters::ValueRow row) {
    for_each_in(lists, side, [&](NodeId element) {
      const auto cell = cell_of(element, false);
      if (!cell || std::holds_alternative<std::monostate>(*cell)) {
        problem(element, "must be a text or a number");
        return;
      }
      row.value = adapters::cells::text_of(*cell);
      assembly_.add(row);  // A line item that could not be read has been named already.
    });
  }

  std::string name_;
  FileProblems& problems_;
  openrtb::Document document_;
  adapters::CatalogAssembly assembly_;
};

}  // namespace

bidder::CatalogRows read_json(std::string_view name, std::string_view text,
                              FileProblems& problems) {
  return JsonReader(name, problems).read(text);
}

}  // namespace spillway::app::catalog
