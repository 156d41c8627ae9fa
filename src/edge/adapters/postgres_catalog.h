#pragma once

#include <memory>
#include <string>

#include "adapters/catalog_source.h"
#include "adapters/sql_connection.h"

namespace spillway::adapters {

/// A catalog in a PostgreSQL database, in the schema that its search path finds first. Readings are
/// REPEATABLE READ: one snapshot. A server that stops answering is given up after the store's
/// patience; the wait for a connection is that in whole seconds, at least 2. Reads go through a
/// cursor: memory stays bounded.
/// `address`: a URI of libpq's. Error: libpq does not understand it.
/// Source: PostgreSQL 15, chapters 13.2.2 and 34.
[[nodiscard]] StoreResult<std::unique_ptr<SqlDatabase>> postgres_database(
    const std::string& address, StoreSettings settings);

}  // namespace spillway::adapters
