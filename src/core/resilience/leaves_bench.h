#pragma once

// For the benches of this room: leaves that all threads of a run call.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

namespace spillway::resilience {

inline constexpr base::Instant kStart{std::chrono::hours(1)};
inline constexpr uint32_t kBenchThreads = 4;

/// Hosts 1 … `count`, none out.
inline std::unique_ptr<Hosts> hosts_in_use(size_t count) {
  auto hosts = std::make_unique<Hosts>(HostSettings{}, kBenchThreads, 1, kStart);
  std::vector<uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), 1);
  std::vector<HostEvent> events;
  hosts->set_hosts(kStart, ids, events);
  return hosts;
}

/// A guard that knows the latencies of its dependency.
inline std::unique_ptr<Guard> guard_in_use(const std::string& key, const Settings& settings) {
  using namespace std::chrono_literals;
  auto guard = std::make_unique<Guard>(key, settings, kBenchThreads, 1, kStart);
  std::vector<Transition> moves;
  for (int i = 0; i < 300; ++i) {
    auto permit = guard->admit(0, {.now = kStart, .offered = 300ms});
    permit->finish(kStart + 60ms, Outcome::kOk);
  }
  guard->tick(kStart + 1s, moves);
  return guard;
}

}  // namespace spillway::resilience
