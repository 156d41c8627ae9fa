#pragma once

#include <cstdint>
#include <vector>

#include "bidder/catalog.h"

namespace spillway::bidder {

/// Which line items of a catalog are in flight and in their hours, over a stretch of time in which
/// that does not change. Made for the stretch before its time comes, no request has to: a pass over
/// 100,000 line items that nobody looked at before takes some 1.5 ms.
struct InFlight {
  uint64_t version = 0;              ///< Of the catalog.
  int64_t from_s = 0;                ///< Holds from here,
  int64_t until_s = 0;               ///< and before here; INT64_MAX: for ever.
  std::vector<uint64_t> bits;        ///< By Catalog::items(), in TargetingIndex::words() words.
  std::vector<unsigned> zone_hours;  ///< By Catalog::zones(): the hour of the week at `from_s`.

  [[nodiscard]] bool covers(uint64_t catalog_version, int64_t unix_s) const {
    return version == catalog_version && unix_s >= from_s && unix_s < until_s;
  }
};

/// Works it out for the stretch that begins at `unix_s`. Keeps the memory of `out`: allocates
/// nothing the second time. Cost: a pass over all line items, about 5 ns each when they are in the
/// cache.
void find_in_flight(const Catalog& catalog, int64_t unix_s, InFlight& out);

}  // namespace spillway::bidder
