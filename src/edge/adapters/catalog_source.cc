#include "adapters/catalog_source.h"

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/postgres_catalog.h"
#include "adapters/sqlite_catalog.h"
#include "adapters/stored_catalog.h"

namespace spillway::adapters {

StoreResult<std::unique_ptr<CatalogStore>> open_catalog(std::string_view address,
                                                        StoreSettings settings) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.starts_with(kSqlite) && address.size() > kSqlite.size()) {
    return std::make_unique<StoredCatalog>(
        sqlite_database(std::string(address.substr(kSqlite.size())), settings));
  }
  if (address.starts_with("postgres://") || address.starts_with("postgresql://")) {
    auto database = postgres_database(std::string(address), settings);
    if (!database) {
      return std::unexpected(std::move(database.error()));
    }
    return std::make_unique<StoredCatalog>(std::move(*database));
  }
  return std::unexpected(
      "no address of a catalog: sqlite:FILE or postgres://USER@HOST:PORT/DATABASE");
}

}  // namespace spillway::adapters
