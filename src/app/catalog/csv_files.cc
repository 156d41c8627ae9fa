#include "app/catalog/csv_files.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "adapters/catalog_cells.h"
#include "adapters/catalog_source.h"
#include "adapters/catalog_tables.h"
#include "app/catalog/csv.h"
#include "app/catalog/problems.h"
#include "app/catalog/text_file.h"
#include "app/config/nearest_name.h"
#include "app/config/utf8.h"
#include "bidder/model.h"

namespace spillway::app::catalog {

namespace {

using adapters::Cell;
using adapters::Table;

std::string path_of(const std::string& folder, std::string_view table) {
  return folder + "/" + std::string(table) + ".csv";
}

/// One file of a folder.
template <typename Row>
class CsvTable {
 public:
  CsvTable(std::string path, FileProblems& problems)
      : path_(std::move(path)), problems_(problems) {}

  void read(std::string_view text, adapters::CatalogAssembly& assembly) {
    if (const size_t bad = first_invalid_utf8(text); bad != std::string_view::npos) {
      problems_.add(path_ + ": not UTF-8 at byte " + std::to_string(bad));
      return;
    }
    CsvReader reader(text);
    std::vector<std::string> fields;
    if (!reader.next(fields) || !read_header(fields)) {
      return;
    }
    while (reader.next(fields)) {
      if (std::string problem = read_record(fields, assembly); !problem.empty()) {
        problems_.add(path_ + ":" + std::to_string(reader.line()) + ": " + problem);
      }
    }
    if (reader.broken()) {
      problems_.add(path_ + ":" + std::to_string(reader.line()) +
                    ": a quote is opened and never closed");
    }
  }

 private:
  bool read_header(const std::vector<std::string>& names) {
    bool good = true;
    for (const std::string& name : names) {
      const auto found =
          std::ranges::find(table_.columns, std::string_view(name), &adapters::Column<Row>::name);
      const auto index = static_cast<size_t>(found - table_.columns.begin());
      std::string problem;
      if (found == table_.columns.end()) {
        problem = "there is no column " + adapters::cells::in_quotes(name) + near(name);
      } else if (std::ranges::find(columns_, index) != columns_.end()) {
        problem = "column " + adapters::cells::in_quotes(name) + " stands twice";
      }
      if (!problem.empty()) {
        problems_.add(path_ + ":1: " + problem);
        good = false;
      }
      columns_.push_back(index);
    }
    return good;
  }

  [[nodiscard]] std::string near(const std::string& name) const {
    std::vector<std::string> known;
    for (const auto& column : table_.columns) {
      known.emplace_back(column.name);
    }
    const std::string meant = nearest_name(name, known);
    return meant.empty() ? meant : "; \"" + meant + "\" is meant?";
  }

  std::string read_record(std::vector<std::string>& fields, adapters::CatalogAssembly& assembly) {
    if (fields.size() != columns_.size()) {
      return std::to_string(fields.size()) + " fields, where the first line has " +
             std::to_string(columns_.size());
    }
    std::vector<Cell> cells(table_.columns.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].empty()) {
        cells[columns_[i]] = std::move(fields[i]);
      }
    }
    Row row;
    std::string problem = adapters::read_row<Row>(cells, row);
    return problem.empty() ? assembly.add(std::move(row)) : problem;
  }

  std::string path_;
  FileProblems& problems_;
  const Table<Row>& table_ = adapters::table<Row>();
  std::vector<size_t> columns_;  ///< Of the table, by place in the file.
};

}  // namespace

bidder::CatalogRows read_csv_folder(const std::string& folder, FileProblems& problems) {
  adapters::CatalogAssembly assembly;
  size_t found = 0;
  adapters::for_each_table([&]<typename Row>(const Table<Row>& table) {
    const std::string path = path_of(folder, table.name);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      return;
    }
    ++found;
    const auto text = read_text(path);
    if (!text) {
      problems.add_unreadable(text.error());
      return;
    }
    CsvTable<Row>(path, problems).read(*text, assembly);
  });
  if (found == 0) {
    problems.add_unreadable(
        folder + ": none of a catalog's files is in it (advertiser.csv, campaign.csv, …)");
  }
  return assembly.take();
}

adapters::StoreResult<void> write_csv_folder(const std::string& folder,
                                             const bidder::CatalogRows& rows) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return std::unexpected(folder + ": " + error.message());
  }
  adapters::StoreResult<void> result;
  adapters::for_each_table([&]<typename Row>(const Table<Row>& table) {
    std::string out;
    const auto add = [&out, separator = ""](std::string_view field) mutable {
      out += separator;
      append_csv(out, field);
      separator = ",";
    };
    for (auto field = add; const auto& column : table.columns) {
      field(column.name);
    }
    out += '\n';
    adapters::for_each_row<Row>(rows, [&](const Row& row) {
      for (auto field = add; const auto& column : table.columns) {
        field(adapters::cells::text_of(column.get(row)));
      }
      out += '\n';
    });
    if (result) {
      result = write_text(path_of(folder, table.name), out);
    }
  });
  return result;
}

}  // namespace spillway::app::catalog
