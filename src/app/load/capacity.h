#pragma once

#include <cstdint>
#include <string>

#include "app/load/load_run.h"

namespace spillway::app {

/// Deadline misses and shed requests as a server counts them.
struct ServerCounts {
  double misses = 0;
  double shed = 0;
};

/// How one trial of a capacity search went.
struct TrialVerdict {
  bool held = false;
  bool generator_bound = false;  ///< We could not send it: it says nothing about the server.
  std::string why{};             ///< "" when held.
};

/// More than this share of the requests shed is too much.
inline constexpr double kShedRatioMax = 0.001;

/// A rate is held with no deadline miss, under kShedRatioMax shed or failed, and at least 99 % of
/// the schedule sent. `counted`: what the server's counters grew by; null: misses are answers later
/// than the tmax of their request, shed is what failed.
[[nodiscard]] TrialVerdict judge_trial(const RunSummary& run, const ServerCounts* counted);

}  // namespace spillway::app
