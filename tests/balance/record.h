#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "balance/farm.h"
#include "balance/haproxy.h"
#include "balance/load.h"

namespace spillway::balance {

/// What was read at one moment, a value for each back end.
struct Reading {
  double at_s = 0;               ///< Since the record's beginning.
  std::vector<double> cpu_s;     ///< Used so far.
  std::vector<double> weights;   ///< Effective in HAProxy.
  std::vector<uint64_t> chosen;  ///< Times HAProxy chose it so far.
};

/// A run second by second, by control groups and HAProxy.
struct Record {
  std::vector<std::string> names;
  std::vector<double> cores;
  std::vector<Reading> readings;
  double load_average = 0;  ///< Of the machine, one minute, at the end.
  double others_cores = 0;  ///< Processors used meanwhile by what is no part of the fleet.

  /// CPU used of what may be used, in percent, between two readings.
  [[nodiscard]] double utilization(size_t backend, size_t from, size_t to) const;
};

/// CPU of all back ends over a window that ends at a reading, in percent of their quotas.
struct Window {
  double ends_at_s = 0;
  std::vector<double> utilization;

  /// Highest less lowest, in points.
  [[nodiscard]] double spread() const;
  [[nodiscard]] double mean() const;
};

/// All windows of `length_s` whose end is at `from_s` or later; one a reading. `members`: only
/// these back ends; empty: all.
[[nodiscard]] std::vector<Window> windows(const Record& record, double length_s, double from_s,
                                          const std::vector<size_t>& members = {});

/// The share of windows whose spread is at most `points`; 0 without any.
[[nodiscard]] double share_within(const std::vector<Window>& windows, double points);

/// The q-th (0 to 1) largest spread.
[[nodiscard]] double spread_quantile(const std::vector<Window>& windows, double q);

/// What to do at a time of a record.
using Act = std::pair<double, std::function<void()>>;

/// Reads the farm once a second for `duration_s`, doing `acts` (in order of time) when they are
/// due. `proxies`: those whose servers the back ends are, by name. Blocks.
[[nodiscard]] Record watch(const Farm& farm, const std::vector<const Haproxy*>& proxies,
                           double duration_s, std::vector<Act> acts = {});

}  // namespace spillway::balance
