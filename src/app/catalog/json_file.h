#pragma once

#include <string>
#include <string_view>

#include "app/catalog/problems.h"
#include "bidder/model.h"

namespace spillway::app::catalog {

/// Reads a catalog from the text of a JSON document (docs/catalog.md). Unknown members, wrong types
/// and values out of range are problems, each with its path ("campaigns[3].status"), after `name`.
/// The rows are right only when no problem was added.
[[nodiscard]] bidder::CatalogRows read_json(std::string_view name, std::string_view text,
                                            FileProblems& problems);

/// The same as text, one row a line.
[[nodiscard]] std::string write_json(const bidder::CatalogRows& rows);

}  // namespace spillway::app::catalog
