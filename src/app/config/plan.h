#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/config/exchange_config.h"

namespace spillway::app {

/// Of the admin listener at once.
inline constexpr size_t kAdminConnections = 100;

/// What the machine allows.
struct MachineLimits {
  uint32_t ephemeral_ports = 28'232;  ///< Towards one peer address and port.
  uint64_t open_files = 1'024;
};

/// Connections to one endpoint of one DSP, as they will be dealt and as they will be needed.
struct EndpointPlan {
  std::string key;             ///< dsp/region/path
  std::string peer;            ///< host:port
  uint32_t qps = 0;            ///< Expected or contracted; 0 when nothing is known.
  base::Duration latency{};    ///< Expected.
  double in_flight_mean = 0;   ///< Little's law: qps times latency.
  double in_flight_worst = 0;  ///< The same when every answer takes the whole default tmax.
  uint32_t max_connections = 0;
  uint32_t per_worker = 0;
};

struct ConnectionPlan {
  std::vector<EndpointPlan> endpoints;
  uint64_t connections = 0;  ///< Out-going ones at most, all DSPs.
  uint64_t open_files = 0;   ///< Needed at most, callers included.
  std::vector<std::string> warnings;
};

/// Connections one of `workers` may hold to a DSP: an equal part, the first workers one more.
[[nodiscard]] uint32_t connections_of_worker(uint32_t max_connections, uint32_t workers,
                                             uint32_t worker);

[[nodiscard]] ConnectionPlan plan_connections(const ExchangeConfig& config,
                                              const MachineLimits& machine);

/// Callers' connections to take when only `open_files` may be open: as configured, or as many as
/// leave the DSPs and the admin listener theirs, but a quarter of the files at least. Without this
/// callers alone could take every file, and then nobody can be asked.
[[nodiscard]] size_t callers_within(const ExchangeConfig& config, uint64_t open_files);

/// Lines for people, or one JSON object.
[[nodiscard]] std::string plan_text(const ConnectionPlan& plan);
[[nodiscard]] std::string plan_json(const ConnectionPlan& plan);

}  // namespace spillway::app
