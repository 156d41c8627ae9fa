#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adapters/catalog_source.h"
#include "app/catalog/problems.h"
#include "bidder/model.h"

namespace spillway::app::catalog {

/// Where a catalog is kept: a database ("sqlite:FILE", "postgres://…"), a JSON file ("….json", "-"
/// for stdout) or a folder of CSV files (anything else).
class Place {
 public:
  explicit Place(std::string text, adapters::StoreSettings settings = {});

  /// To be shown: a database's without user and password.
  [[nodiscard]] std::string name() const;

  /// All rows. What stands in the way is added to `problems`.
  [[nodiscard]] bidder::CatalogRows read(FileProblems& problems) const;

  /// Replaces what is there; a database's schema is brought up to date first. Error: one sentence
  /// with the place.
  adapters::StoreResult<void> write(const bidder::CatalogRows& rows, int64_t now_s,
                                    const adapters::OnProgress& on_progress) const;

 private:
  enum class Kind : uint8_t { kDatabase, kJson, kFolder };

  std::string text_;
  adapters::StoreSettings settings_;
  Kind kind_;
};

}  // namespace spillway::app::catalog
