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

/// Values that a line item both includes and excludes, in whichever spelling: they are never
/// served, which nobody means. The row serves its other values, so it is not broken by them.
[[nodiscard]] std::vector<Problem> contradictions(const CatalogRows& rows);

}  // namespace spillway::bidder
