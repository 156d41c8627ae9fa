#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "adapters/catalog_cells.h"
#include "adapters/catalog_tables.h"
#include "app/catalog/json_file.h"
#include "bidder/model.h"
#include "bidder/model_text.h"
#include "openrtb/document.h"

namespace spillway::app::catalog {

namespace {

using adapters::Cell;

class JsonWriter {
 public:
  std::string write(const bidder::CatalogRows& rows) {
    out_ = "{";
    write_rows("advertisers", rows.advertisers, [](const bidder::Advertiser&) {});
    write_rows("campaigns", rows.campaigns, [this](const bidder::Campaign& row) {
      std::string caps;
      adapters::for_each_cap(row, [&caps](const adapters::CapRow& cap) {
        caps += (caps.empty() ? "" : ",") + object(cap, 1);
      });
      if (!caps.empty()) {
        out_ += R"(,"caps":[)" + caps + "]";
      }
    });
    write_rows("line_items", rows.line_items,
               [this](const bidder::LineItem& row) { write_targeting(row); });
    write_rows("creatives", rows.creatives, [](const bidder::Creative&) {});
    return std::move(out_) + "\n}\n";
  }

 private:
  static void append(std::string& out, const Cell& cell, bool list, bool numbers) {
    if (const auto* text = std::get_if<std::string>(&cell); text != nullptr && list) {
      out += '[';
      std::string_view rest = *text;
      for (const char* separator = ""; !rest.empty(); separator = ",") {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest = rest.substr(std::min(rest.size(), part.size() + 1));
        out += separator;
        if (numbers) {
          out += part;
        } else {
          openrtb::append_json_string(out, part);
        }
      }
      out += ']';
    } else if (text != nullptr) {
      openrtb::append_json_string(out, *text);
    } else {
      out += adapters::cells::text_of(cell);
    }
  }

  /// Members that have a value, from column `first` on; empty texts and lists are left out.
  template <typename Row>
  static std::string members(const Row& row, size_t first) {
    std::string out;
    const auto& columns = adapters::table<Row>().columns;
    for (size_t i = first; i < columns.size(); ++i) {
      const Cell cell = columns[i].get(row);
      const auto* const text = std::get_if<std::string>(&cell);
      if (std::holds_alternative<std::monostate>(cell) || (text != nullptr && text->empty())) {
        continue;
      }
      out += out.empty() ? "" : ",";
      openrtb::append_json_string(out, columns[i].name);
      out += ':';
      append(out, cell, columns[i].list, columns[i].numbers);
    }
    return out;
  }

  template <typename Row>
  static std::string object(const Row& row, size_t first) {
    return "{" + members(row, first) + "}";
  }

  template <typename Row, typename More>
  void write_rows(std::string_view name, const std::vector<Row>& rows, More more) {
    out_ += (out_.size() > 1 ? ",\n\"" : "\n\"") + std::string(name) + "\":[";
    for (const char* separator = "\n"; const Row& row : rows) {
      out_ += std::exchange(separator, ",\n");
      out_ += "{" + members(row, 0);
      more(row);
      out_ += "}";
    }
    out_ += "]";
  }

  void write_side(std::string_view side, const std::vector<std::string>& values, std::string& out) {
    if (values.empty()) {
      return;
    }
    out += (out.empty() ? "\"" : ",\"") + std::string(side) + "\":[";
    for (const char* separator = ""; const std::string& value : values) {
      out += std::exchange(separator, ",");
      openrtb::append_json_string(out, value);
    }
    out += "]";
  }

  void write_targeting(const bidder::LineItem& row) {
    std::string targeting;
    for (size_t i = 0; i < bidder::kDimensions; ++i) {
      const auto dimension = static_cast<bidder::Dimension>(i);
      std::string sides;
      write_side("include", row.targeting.of(dimension).include, sides);
      write_side("exclude", row.targeting.of(dimension).exclude, sides);
      if (!sides.empty()) {
        targeting += (targeting.empty() ? "\"" : ",\"") + std::string(bidder::name_of(dimension)) +
                     "\":{" + sides + "}";
      }
    }
    if (!targeting.empty()) {
      out_ += R"(,"targeting":{)" + targeting + "}";
    }
    std::string radii;
    adapters::for_each_radius(row, [&radii](const adapters::RadiusRow& radius) {
      radii += (radii.empty() ? "" : ",") + object(radius, 1);
    });
    if (!radii.empty()) {
      out_ += R"(,"radii":[)" + radii + "]";
    }
  }

  std::string out_;
};

}  // namespace

std::string write_json(const bidder::CatalogRows& rows) { return JsonWriter().write(rows); }

}  // namespace spillway::app::catalog
