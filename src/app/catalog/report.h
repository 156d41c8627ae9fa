#pragma once

#include <string>
#include <vector>

#include "app/catalog/problems.h"
#include "bidder/catalog.h"
#include "bidder/model.h"

namespace spillway::app::catalog {

/// What a command found, for people or as one JSON object.
struct Report {
  std::string place;  ///< What was read or written.
  bidder::CatalogRows const* rows = nullptr;
  FileProblems unreadable;                ///< What could not be read at all.
  std::vector<bidder::Problem> problems;  ///< Of rows that could.
};

/// Lines for people: each problem, then how many rows and problems there are. At most 100 problems
/// are listed.
[[nodiscard]] std::string report_text(const Report& report);

/// {"place", "rows": {"advertisers", …}, "unreadable": [text], "problems": [{"kind", "id", "field",
/// "message", "value"}], "problem_count"}: the first 1,000 problems.
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace spillway::app::catalog
