#include "app/catalog/place.h"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/catalog_source.h"
#include "app/catalog/csv_files.h"
#include "app/catalog/json_file.h"
#include "app/catalog/problems.h"
#include "app/catalog/text_file.h"
#include "bidder/model.h"

namespace spillway::app::catalog {

Place::Place(std::string text, adapters::StoreSettings settings)
    : text_(std::move(text)), settings_(settings), kind_(Kind::kFolder) {
  const std::string_view view = text_;
  if (view.starts_with("sqlite:") || view.starts_with("postgres://") ||
      view.starts_with("postgresql://")) {
    kind_ = Kind::kDatabase;
  } else if (view.ends_with(".json") || view == "-") {
    kind_ = Kind::kJson;
  }
}

std::string Place::name() const {
  if (kind_ != Kind::kDatabase) {
    return text_;
  }
  const auto store = adapters::open_catalog(text_, settings_);
  return store ? (*store)->name() : text_.substr(0, text_.find(':') + 1) + "…";
}

bidder::CatalogRows Place::read(FileProblems& problems) const {
  if (kind_ == Kind::kFolder) {
    return read_csv_folder(text_, problems);
  }
  if (kind_ == Kind::kJson) {
    auto file = read_text(text_);
    if (!file) {
      problems.add_unreadable(std::move(file.error()));
      return {};
    }
    return read_json(text_, *file, problems);
  }
  auto store = adapters::open_catalog(text_, settings_);
  if (!store) {
    problems.add_unreadable(std::move(store.error()));
    return {};
  }
  auto reading = (*store)->load();
  if (!reading) {
    problems.add_unreadable(std::move(reading.error()));
    return {};
  }
  return std::move(reading->rows);
}

adapters::StoreResult<void> Place::write(const bidder::CatalogRows& rows, int64_t now_s,
                                         const adapters::OnProgress& on_progress) const {
  if (kind_ == Kind::kFolder) {
    return write_csv_folder(text_, rows);
  }
  if (kind_ == Kind::kJson) {
    return write_text(text_, write_json(rows));
  }
  auto store = adapters::open_catalog(text_, settings_);
  if (!store) {
    return std::unexpected(std::move(store.error()));
  }
  if (auto migrated = (*store)->migrate(); !migrated) {
    return std::unexpected(std::move(migrated.error()));
  }
  return (*store)->replace(rows, now_s, on_progress);
}

}  // namespace spillway::app::catalog
