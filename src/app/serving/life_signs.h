#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "observe/supervisor.h"

namespace spillway::app {

/// The proof behind telling a supervisor that a server lives: every worker's loop turns, not only
/// the one that tells. One thread.
class LifeSigns {
 public:
  explicit LifeSigns(observe::Supervisor& supervisor) : supervisor_(supervisor) {}

  /// `turns`: a number for each worker that grows while its loop turns. Tells the supervisor unless
  /// one of them has stood still for longer than half the watchdog's time (a second at least).
  void tell(std::span<const uint64_t> turns, base::Instant now);

  /// The same of workers that count their turns in stats().
  template <typename Workers>
  void tell_of(const Workers& workers, base::Instant now) {
    std::vector<uint64_t> turns;
    turns.reserve(workers.size());
    for (const auto& worker : workers) {
      turns.push_back(worker->stats().turns.value());
    }
    tell(turns, now);
  }

 private:
  observe::Supervisor& supervisor_;
  std::vector<uint64_t> turns_seen_;  ///< As of lively_at_.
  base::Instant lively_at_{};         ///< When every worker was last seen to have turned.
};

}  // namespace spillway::app
