#include "app/exchange/shed_gate.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "app/config/server_config.h"
#include "app/exchange/stats.h"
#include "base/time.h"
#include "exchange/shed_levels.h"
#include "exchange/snapshot.h"
#include "resilience/shedder.h"

namespace spillway::app {

using resilience::Criticality;
using resilience::Shed;

void ShedGate::set(const Shedding& settings, std::span<const exchange::Account> accounts) {
  settings_ = settings;
  shedder_.set(settings.queue);
  in_use_ = {};
  for (const auto& account : accounts) {
    in_use_[static_cast<size_t>(account.criticality)] = true;
  }
}

exchange::ShedLevels ShedGate::judge(base::Instant now, const WorkerLoad& load) {
  decisions_ = shedder_.decide_for_all(now, load.queue_age, load.in_flight);
  full_ = load.buffered_bytes > settings_.level_2_bytes ||
          load.flights >= 2 * size_t{settings_.queue.level2.in_flight};
  exchange::ShedLevels levels;
  for (size_t i = 0; i < resilience::kCriticalities; ++i) {
    // A class that nobody has must not be why a request is read.
    const bool at_once = full_ || !in_use_[i] || decisions_[i].shed == Shed::kLevel2;
    levels.set(static_cast<Criticality>(i),
               at_once ? uint8_t{2} : static_cast<uint8_t>(decisions_[i].shed));
  }
  return levels;
}

bool ShedGate::settle(std::optional<Criticality> whose) {
  // Nothing was read: the class that would have been shed last speaks for it.
  size_t rank = 0;
  while (!whose && rank + 1 < resilience::kCriticalities && !in_use_[rank]) {
    ++rank;
  }
  const auto criticality = whose ? *whose : static_cast<Criticality>(rank);
  auto decision = decisions_[static_cast<size_t>(criticality)];
  size_t reason = static_cast<size_t>(decision.reason);
  if (full_) {
    decision.shed = Shed::kLevel2;
    reason = WorkerStats::kShedForMemory;
  }
  shedder_.note(criticality, decision);
  if (decision.shed == Shed::kAdmit) {
    return false;
  }
  const size_t priority = whose ? static_cast<size_t>(*whose) : WorkerStats::kShedUnread;
  stats_.shed[static_cast<size_t>(decision.shed) - 1][reason][priority].add();
  return true;
}

}  // namespace spillway::app
