#include "app/load/capacity.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/load/load_run.h"
#include "app/load/report.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

constexpr double kAchievedMin = 0.99;

}  // namespace

TrialVerdict judge_trial(const RunSummary& run, const ServerCounts* counted) {
  const workload::Tally& tally = run.tally;
  const double offered = std::max(1.0, static_cast<double>(tally.offered()));
  const double late_ratio = static_cast<double>(tally.late()) / offered;
  const double failed = static_cast<double>(tally.failed() + tally.dropped());
  const double misses =
      counted != nullptr ? counted->misses : static_cast<double>(tally.over_tmax());
  const double shed = counted != nullptr ? std::max(counted->shed, failed) : failed;
  if (late_ratio > kMissedRatioMax) {
    return {.generator_bound = true,
            .why = fmt::format("the generator was late with {:.1f} %", 100 * late_ratio)};
  }
  if (misses > 0) {
    return {.why = fmt::format("{:.0f} deadline misses", misses)};
  }
  if (shed / offered >= kShedRatioMax) {
    return {.why = fmt::format("{:.2f} % shed or failed", 100 * shed / offered)};
  }
  if (run.achieved_ratio() < kAchievedMin) {
    return {.generator_bound = true,
            .why = fmt::format("only {:.1f} % sent", 100 * run.achieved_ratio())};
  }
  return {.held = true};
}

}  // namespace spillway::app
