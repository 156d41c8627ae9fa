#include "app/bidder/load.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/bidder/stats.h"
#include "app/bidder/worker.h"
#include "app/config/server_config.h"
#include "app/serving/server_metrics.h"
#include "bidder/stages.h"
#include "net/server.h"
#include "observe/admin.h"

namespace spillway::app::bidding {

observe::Load load_of(const std::vector<std::unique_ptr<Worker>>& workers,
                      const net::Server& server, const Shedding& shedding) {
  using bidder::NoBidReason;
  constexpr std::array kNoSuccess{NoBidReason::kInvalid, NoBidReason::kShed, NoBidReason::kDeadline,
                                  NoBidReason::kCallerGone};
  observe::Load load;
  const uint64_t missed = sum_of(server, [](auto& c) -> auto& { return c.deadline_misses; });
  uint64_t well = 0;
  load.failures = missed;
  for (const auto& worker : workers) {
    const WorkerStats& stats = worker->stats();
    load.requests += stats.pipeline.requests.value();
    load.in_flight += stats.in_flight.value();
    well += stats.pipeline.answers.value();
    for (size_t i = 1; i < bidder::kNoBidReasons; ++i) {
      const bool is_one =
          std::ranges::find(kNoSuccess, static_cast<NoBidReason>(i)) == kNoSuccess.end();
      well += is_one ? stats.pipeline.no_bids[i].value() : 0;
    }
    load.failures += stats.pipeline.no_bids[static_cast<size_t>(NoBidReason::kDeadline)].value();
  }
  load.successes = well - std::min(well, missed);
  load.limit = uint64_t{shedding.queue.level2.in_flight} * workers.size();
  return load;
}

}  // namespace spillway::app::bidding
