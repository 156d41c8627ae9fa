#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/config/exchange_config.h"
#include "app/exchange/dsp_hosts.h"
#include "app/exchange/stats.h"
#include "net/tls.h"
#include "resilience/guard.h"

namespace spillway::app {

/// One configuration as it is posted to one worker: the config, and beside every endpoint of every
/// DSP its guard, its hosts and the worker's counters, which live until EndpointUse forgets the
/// key.
struct Deployment {
  struct Slot {
    resilience::Guard* guard = nullptr;
    EndpointStats* stats = nullptr;
    EndpointHosts* hosts = nullptr;
    std::shared_ptr<net::TlsClient> tls;  ///< Null: plain.
  };

  uint64_t number = 0;  ///< Of EndpointUse.
  std::shared_ptr<const ExchangeConfig> config;
  std::vector<std::vector<Slot>> slots;  ///< [dsp][endpoint], as in config->snapshot.dsps.
};

}  // namespace spillway::app
