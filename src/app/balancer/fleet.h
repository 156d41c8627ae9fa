#pragma once

#include <vector>

#include "adapters/registry.h"

namespace spillway::app::balancing {

/// Who should serve, as all HAProxies of one balancer are told.
struct Fleet {
  bool reconciles = false;                          ///< There is a registry.
  bool known = false;                               ///< It was read.
  std::vector<adapters::RegistryInstance> members;  ///< Of the zone.
  bool weights_differ = false;  ///< Some server's weight is not the same on all HAProxies.
};

}  // namespace spillway::app::balancing
