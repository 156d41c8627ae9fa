#pragma once

#include "bidder/model.h"

namespace spillway::bidder {

/// Sorts what has no order of its own: rows by id, lists of targeting by value without duplicates,
/// caps and radii. Two catalogs that mean the same are equal afterwards.
/// Cost: n log n of the values.
void put_in_order(CatalogRows& rows);

}  // namespace spillway::bidder
