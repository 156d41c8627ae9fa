#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bidder/model.h"
#include "bidder/time_zone.h"

namespace spillway::adapters {

/// A zone of this machine's tz database as a table of its offsets, from two years before `now_s`
/// (Unix seconds) to ten years after it, where its rules are known so far ahead: a table made daily
/// never runs out. nullopt for a name that the database does not have.
/// Reads files at the first call; then about 2 us. Any thread.
/// Source: tzdata's compiled files, which reach to 2037.
[[nodiscard]] std::optional<bidder::TimeZone> time_zone(std::string_view name, int64_t now_s);

/// The tables of all zones that advertisers name, each once, by name. Names that the database does
/// not have are left out, so that bidder::check_rows() finds and names them.
[[nodiscard]] std::vector<bidder::TimeZone> time_zones_of(const bidder::CatalogRows& rows,
                                                          int64_t now_s);

}  // namespace spillway::adapters
