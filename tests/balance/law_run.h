#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "balance/agents.h"
#include "balance/farm.h"
#include "balance/load.h"
#include "balance/record.h"

namespace spillway::balance {

/// One law on one farm under one constant Poisson load, from equal weights.
struct LawRunPlan {
  AgentOptions agents{};
  std::vector<BackendPlan> backends = five_unlike();
  double demand = 0.62;  ///< Of the farm's planned capacity.
  std::chrono::seconds duration{45};
};

struct LawRun {
  std::string why;  ///< Empty when it ran.
  Record record;
  LoadReport load;
  double rate_per_s = 0;

  /// Median over the run's seconds after `from_s` of each one's p99.
  [[nodiscard]] double typical_p99_ms(size_t from_s) const;
};

/// Blocks for the plan's duration and some seconds.
[[nodiscard]] LawRun run_law(const LawRunPlan& plan);

/// "t=10 spread ... mean ...: b1 ... b5 ..." for windows of ten seconds, every five.
[[nodiscard]] std::string table_of(const LawRun& run);

}  // namespace spillway::balance
