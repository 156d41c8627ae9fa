#include "app/exchange/load.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/config/server_config.h"
#include "app/exchange/stats.h"
#include "app/exchange/worker.h"
#include "app/serving/server_metrics.h"
#include "exchange/auction.h"
#include "net/server.h"
#include "observe/admin.h"

namespace spillway::app {

observe::Load load_of(const std::vector<std::unique_ptr<Worker>>& workers,
                      const net::Server& server, const Shedding& shedding) {
  using exchange::ReplyKind;
  observe::Load load;
  uint64_t out_of_time = sum_of(server, [](auto& c) -> auto& { return c.deadline_misses; });
  uint64_t well = 0;
  for (const auto& worker : workers) {
    const WorkerStats& stats = worker->stats();
    for (const auto& replies : stats.replies) {
      load.requests += replies.value();
    }
    for (const auto kind : {ReplyKind::kBid, ReplyKind::kHouse, ReplyKind::kNoBid}) {
      well += stats.replies[static_cast<size_t>(kind)].value();
    }
    out_of_time += stats.nbr_time.value();
    load.in_flight += stats.in_flight.value();
  }
  load.requests += load.in_flight;
  load.failures = out_of_time;
  load.successes = well - std::min(well, out_of_time);
  load.limit = uint64_t{shedding.queue.level2.in_flight} * workers.size();
  return load;
}

}  // namespace spillway::app
