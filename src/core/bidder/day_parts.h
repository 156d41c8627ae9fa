#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bidder/model.h"

namespace spillway::bidder {

/// Hours of the week as people write them: day or range of days, blank, ranges of hours (24 is
/// midnight at the day's end), groups between semicolons: "mon-fri 8-12,13-22; sat-sun 10-22". Days
/// that stand in no group have no hours. "always" is all hours, "never" none.
/// Error: one sentence without its place.
[[nodiscard]] base::Result<DayParts, std::string> parse_day_parts(std::string_view text);

/// The shortest of its spellings, which parse_day_parts() reads back exactly.
[[nodiscard]] std::string to_string(const DayParts& hours);

}  // namespace spillway::bidder
