#pragma once

#include <span>
#include <string_view>

namespace spillway::adapters {

/// One step of the schema's history: never changed once it was released, only followed.
struct Migration {
  int number = 0;  ///< 1, 2, 3, …
  std::string_view name;
  std::span<const std::string_view> statements;  ///< SQL that SQLite and PostgreSQL both take.
};

/// All of them, by number.
[[nodiscard]] std::span<const Migration> catalog_migrations();

}  // namespace spillway::adapters
