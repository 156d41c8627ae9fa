#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace spillway::capacity {

/// What a server does with the traffic it could have.
enum class ServerState : uint8_t {
  kWarming,  ///< Alive, not yet ready for its share: its caches or its slow start.
  kServing,
  kFrozen,    ///< Serving; an operator holds its weight.
  kDraining,  ///< Takes nothing new and will be gone.
};

/// Of `id`, `zone` and `server_class` each.
inline constexpr size_t kLongestName = 128;

/// More than any server does; what says more is a mistake or a lie.
inline constexpr double kMostPerSecond = 1e9;
inline constexpr double kMostMs = 1e7;

/// What one server tells its peers about a window of time: all a law needs to know of another, and
/// enough to take the same decision again from a recording.
/// A value; `id`, `zone` and `server_class` are at most 128 bytes each.
struct Sample {
  std::string id;            ///< Of the server; unique in its fleet.
  std::string zone;          ///< Weights are balanced among the servers of one zone.
  std::string server_class;  ///< Machines thought alike, e.g. instance type and quota.
  double capacity = 0;  ///< Successful requests a second and unit of `utilization`; 0: not known.
  double utilization = 0;           ///< CPU used of what the server may use, 0 to 1.
  double successes_per_second = 0;  ///< Answered well and in time.
  double requests_per_second = 0;   ///< All that came.
  double weight = 0;                ///< In force; of 256 steps, see weight.h.
  ServerState state = ServerState::kServing;
  uint64_t sequence = 0;     ///< Higher is newer; starts anew with `started_at_ms`.
  base::Instant taken_at{};  ///< The end of the window, on the reader's clock once received.

  double failures_per_second =
      0;                         ///< Answered badly or too late; refusals by overload are neither.
  double throttled_share = 0;    ///< Of the scheduler's periods in the window, 0 to 1.
  double pressure = 0;           ///< PSI of the CPU, "some", 0 to 1.
  double p95_ms = 0;             ///< Of the answers in the window; 0: not known.
  double cores = 0;              ///< What the server may use; 0: not known.
  base::Duration window{};       ///< Over which the rates are.
  base::Duration serving_for{};  ///< Since it began to serve.
  uint64_t started_at_ms = 0;    ///< Of the process, in wall time: tells a restart.
  bool sensor_alive = true;      ///< False: `utilization` says nothing.
  bool counts_successes = true;  ///< False: nobody told the rates of answers.
};

}  // namespace spillway::capacity
