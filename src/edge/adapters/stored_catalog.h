#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "adapters/catalog_schema.h"
#include "adapters/catalog_source.h"
#include "adapters/sql_connection.h"
#include "bidder/model.h"

namespace spillway::adapters {

/// A catalog in an SQL database: the same statements for all of them. Thread rule and errors as
/// CatalogSource.
class StoredCatalog final : public CatalogStore {
 public:
  explicit StoredCatalog(std::unique_ptr<SqlDatabase> database,
                         std::span<const Migration> migrations = catalog_migrations());

  [[nodiscard]] const std::string& name() const override;
  StoreResult<CatalogReading> load() override;
  StoreResult<size_t> migrate() override;
  StoreResult<void> replace(const bidder::CatalogRows& rows, int64_t now_s,
                            const OnProgress& on_progress) override;

 private:
  StoreResult<std::unique_ptr<SqlConnection>> connect(SqlDatabase::Purpose purpose);
  StoreResult<int> schema_number(SqlConnection& connection);
  StoreResult<void> check_schema(SqlConnection& connection);
  StoreResult<size_t> run_migrations(SqlConnection& connection);
  StoreResult<CatalogReading> read_all(SqlConnection& connection);
  StoreResult<void> write_all(SqlConnection& connection, const bidder::CatalogRows& rows,
                              int64_t now_s, const OnProgress& on_progress);

  std::unique_ptr<SqlDatabase> database_;
  std::span<const Migration> migrations_;
};

}  // namespace spillway::adapters
