#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/exchange/worker.h"
#include "app/exchange/worker_hosts.h"

namespace spillway::app {

/// One endpoint of one DSP as a worker calls it. Stays while a configuration in use names its key
/// or a call is open.
struct Worker::Target {
  std::string key;
  net::TargetId id = 0;
  resilience::Guard* guard = nullptr;
  EndpointStats* stats = nullptr;
  std::shared_ptr<WorkerHosts> hosts;
  std::string headers;
  uint32_t calls_open = 0;  ///< Tails included.
  /// Round trip of the network alone: the least connect time seen, forgotten slowly.
  base::Duration network_cost{};
  bool cost_known = false;
};

/// One call under way, or the tail of one.
struct Worker::Call {
  Flight* flight = nullptr;  ///< Null once its answer was delivered and only the tail is left.
  Target* target = nullptr;
  uint32_t candidate = 0;
  uint32_t place = 0;  ///< In Flight::call_slots.
  uint64_t client_id = 0;
  resilience::Permit permit;
  resilience::Tail tail;
};

/// A configuration with its targets.
struct Worker::Route {
  std::shared_ptr<const ExchangeConfig> config;
  std::vector<std::vector<Target*>> targets;  ///< [dsp][endpoint]

  [[nodiscard]] const exchange::Snapshot& snapshot() const { return config->snapshot; }
};

}  // namespace spillway::app
