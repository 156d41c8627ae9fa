#pragma once

#include <memory>
#include <string>

#include "adapters/catalog_source.h"
#include "adapters/sql_connection.h"

namespace spillway::adapters {

/// A catalog in one SQLite file. It is kept in WAL mode: readers and a writer do not wait for each
/// other; writers wait for one another as long as the store's patience.
/// Source: SQLite, "Write-Ahead Logging".
[[nodiscard]] std::unique_ptr<SqlDatabase> sqlite_database(std::string path,
                                                           StoreSettings settings);

}  // namespace spillway::adapters
