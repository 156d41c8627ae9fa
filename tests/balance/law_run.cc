#include "balance/law_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "balance/farm.h"
#include "balance/fleet.h"
#include "balance/load.h"
#include "balance/record.h"

namespace spillway::balance {

double LawRun::typical_p99_ms(size_t from_s) const {
  std::vector<double> values;
  for (size_t i = from_s; i < load.seconds.size(); ++i) {
    values.push_back(load.seconds[i].p99_ms);
  }
  if (values.empty()) {
    return std::nan("");
  }
  std::ranges::sort(values);
  return values[values.size() / 2];
}

LawRun run_law(const LawRunPlan& plan) {
  LawRun run;
  Fleet fleet(plan.backends, plan.agents);
  if (!fleet.error().empty()) {
    run.why = fleet.error();
    return run;
  }
  run.rate_per_s = plan.demand * capacity_of(plan.backends);
  Load load = fleet.load(run.rate_per_s, plan.duration);
  run.record = fleet.watch(static_cast<double>(plan.duration.count()));
  run.load = load.report();
  if (!run.load.valid) {
    run.why = "spillway load did not report";
  }
  return run;
}

std::string table_of(const LawRun& run) {
  std::string text = fmt::format(
      "{:.0f} requests/s; load average {:.1f}, others used {:.2f} processors; {} failed, {} missed "
      "of {}; p50 {:.1f} "
      "ms, p99 {:.0f} ms\n",
      run.rate_per_s, run.record.load_average, run.record.others_cores, run.load.failed,
      run.load.missed, run.load.offered, run.load.p50_ms, run.load.p99_ms);
  for (const Window& window : windows(run.record, 10, 10)) {
    if (std::lround(window.ends_at_s) % 5 == 0) {
      text += fmt::format("  t={:3.0f} s spread {:4.1f} mean {:4.1f}:", window.ends_at_s,
                          window.spread(), window.mean());
      for (size_t i = 0; i < window.utilization.size(); ++i) {
        const auto at = static_cast<size_t>(std::lround(window.ends_at_s));
        text += fmt::format(
            " {:5.1f}@{:<3.0f}", window.utilization[i],
            run.record.readings[std::min(at, run.record.readings.size() - 1)].weights[i]);
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace spillway::balance
