#pragma once

#include <array>
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

/// How a worker stands when a request comes.
struct WorkerLoad {
  base::Duration queue_age{};   ///< How long the request has waited to be read.
  uint32_t in_flight = 0;       ///< Unanswered auctions.
  size_t flights = 0;           ///< Auctions that hold memory, answered ones with late calls too.
  uint64_t buffered_bytes = 0;  ///< Of requests and answers.
};

/// Whether one worker takes a request on, by the class of its account, which is known only after
/// the walk: judge() before, settle() after.
///
/// One thread: the worker's.
class ShedGate {
 public:
  explicit ShedGate(WorkerStats& stats) : stats_(stats) {}

  /// From the next request on. `accounts` say which classes there are: when all of these are shed
  /// at once, nothing is read.
  void set(const Shedding& settings, std::span<const exchange::Account> accounts);

  /// A level for each class.
  exchange::ShedLevels judge(base::Instant now, const WorkerLoad& load);

  /// Counts what became of the request judged last; nothing when nothing was read. True: shed.
  bool settle(std::optional<resilience::Criticality> whose);

 private:
  WorkerStats& stats_;
  Shedding settings_;
  resilience::Shedder shedder_{settings_.queue};
  std::array<bool, resilience::kCriticalities> in_use_{};
  resilience::Shedder::Decisions decisions_{};
  bool full_ = false;  ///< Of bytes or of flights: level 2 for everybody.
};

}  // namespace spillway::app
