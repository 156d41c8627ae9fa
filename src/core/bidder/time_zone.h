#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::bidder {

/// A time zone as a table of its offsets. The edge makes it from the tz database, far enough into
/// the past and the future for what a catalog lives; core has no time zones of its own. "UTC" needs
/// no table.
struct TimeZone {
  struct Change {
    int64_t from_unix_s = 0;
    int32_t offset_s = 0;  ///< Local time is UTC plus this.

    bool operator==(const Change&) const = default;
  };

  std::string name = "UTC";
  std::vector<Change> changes;  ///< By time, ascending. Before the first: its offset. None: UTC.

  /// Cost: one binary search.
  [[nodiscard]] int32_t offset_s(int64_t unix_s) const;

  /// When the offset next changes after `unix_s`; INT64_MAX for never.
  [[nodiscard]] int64_t next_change_s(int64_t unix_s) const;

  /// Hour of the local week, [0, 168): 0 is Monday from 00:00.
  [[nodiscard]] unsigned hour_of_week(int64_t unix_s) const;

  bool operator==(const TimeZone&) const = default;
};

}  // namespace spillway::bidder
