#pragma once

#include <array>
#include <span>
#include <vector>

#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::bidder {

/// What checking found, by row too.
struct CheckedRows {
  std::vector<Problem> problems;
  std::array<std::vector<bool>, kRowKinds> broken;  ///< By kind and position.
};

/// check_rows, and which rows it is about. Of rows with one id all are broken: nobody can tell
/// which is meant.
[[nodiscard]] CheckedRows check(const CatalogRows& rows, std::span<const TimeZone> zones);

}  // namespace spillway::bidder
