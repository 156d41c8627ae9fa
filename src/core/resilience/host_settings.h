#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "resilience/problem.h"

namespace spillway::resilience {

/// When a host under a leaf is left out, for how long, and how it comes back.
struct HostSettings {
  /// Failures in a row before an answer (connect, TLS, reset, timeout) that eject.
  /// Where a share of all calls fails as a rule it takes more: see row_that_ejects.
  /// Larger: more calls lost to a dead host. [1, 1 000].
  uint32_t consecutive_local = 5;
  /// 5xx answers in a row that eject; the same holds. [1, 1 000].
  uint32_t consecutive_server_errors = 5;

  /// How often rates and latencies are compared. Larger: surer and later. [1 s, 5 min].
  base::Duration interval = std::chrono::seconds(10);
  /// Calls of a host in an interval below which it is not compared, nor compared with.
  /// [10, 100 000].
  uint32_t volume = 50;
  /// Fewer failures in an interval eject nobody. [1, 10 000].
  uint32_t min_failures = 5;
  /// A host that succeeds at least that often is never ejected by its rate. [0, 1].
  double success_floor = 0.95;
  /// Robust standard deviations over its peers that a failing share must lie. [0, 10].
  double deviations = 1.9;

  /// How many times the median of its peers' p90 a host's p90 must be. [1.5, 100].
  double latency_ratio = 3;
  /// A p90 up to this is never slow. [1 ms, 10 s].
  base::Duration slow_floor = std::chrono::milliseconds(50);

  /// The n-th ejection lasts min(n · eject_min, eject_max) · U[0.8, 1.2]. [100 ms, 5 min].
  base::Duration eject_min = std::chrono::seconds(10);
  /// Range [eject_min, 1 h].
  base::Duration eject_max = std::chrono::minutes(5);
  /// Share of the hosts that may be out at once, rounded down, but at least one of two or more and
  /// never the last. 0: nobody is ejected. Larger: less capacity left when rules err. [0, 1].
  double max_ejected = 0.3;
  /// Below this usable share all are used: panic. 0: never. [0, 1].
  double panic = 0.5;

  /// A host that returns weighs `warm_from` at first and all of its weight after `warm`.
  /// Larger: gentler, and slower back to balance. [100 ms, 5 min], [0.01, 1].
  base::Duration warm = std::chrono::seconds(10);
  double warm_from = 0.1;
};

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<Problem> validate(const HostSettings& settings);

}  // namespace spillway::resilience
