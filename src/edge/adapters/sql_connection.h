#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "adapters/catalog_source.h"
#include "adapters/catalog_tables.h"

namespace spillway::adapters {

/// An open connection to a database, as little of it as a catalog needs. One thread. What was begun
/// and not committed when it ends is undone. Errors are the database's own words, without its name.
class SqlConnection {
 public:
  /// The problem with a row, or "": then the query goes on.
  using OnRow = std::function<std::string(std::span<const Cell> cells)>;
  /// Takes one row to be added.
  using Emit = std::function<void(std::span<const Cell> cells)>;
  /// Gives all rows to be added, one after another.
  using Produce = std::function<void(const Emit& emit)>;

  SqlConnection() = default;
  SqlConnection(const SqlConnection&) = delete;
  SqlConnection& operator=(const SqlConnection&) = delete;
  virtual ~SqlConnection() = default;

  /// From here on all queries see the database as it is at the first of them.
  virtual StoreResult<void> begin_read() = 0;

  /// From here on nobody else writes this schema until the end.
  virtual StoreResult<void> begin_write() = 0;

  virtual StoreResult<void> execute(const std::string& sql) = 0;
  virtual StoreResult<void> query(const std::string& sql, const OnRow& on_row) = 0;

  /// Adds rows of so many columns, many at a time. `columns`: their names, comma between. After the
  /// first error rows are taken and thrown away.
  virtual StoreResult<void> insert(const std::string& table, const std::string& columns,
                                   size_t column_count, const Produce& produce) = 0;

  virtual StoreResult<bool> has_table(std::string_view name) = 0;
};

/// A database that may be connected to.
class SqlDatabase {
 public:
  enum class Purpose { kRead, kWrite };

  SqlDatabase() = default;
  SqlDatabase(const SqlDatabase&) = delete;
  SqlDatabase& operator=(const SqlDatabase&) = delete;
  virtual ~SqlDatabase() = default;

  /// As CatalogSource::name().
  [[nodiscard]] virtual const std::string& name() const = 0;

  /// kWrite may create it, where it is a file.
  virtual StoreResult<std::unique_ptr<SqlConnection>> connect(Purpose purpose) = 0;
};

}  // namespace spillway::adapters
