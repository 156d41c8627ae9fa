#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/hosts.h"
#include "resilience/leaves_bench.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Hosts> shared_hosts;

void set_up(const benchmark::State& state) {
  shared_hosts = hosts_in_use(static_cast<size_t>(state.range(0)));
}

/// Of `range` hosts, none out; the random number is in it.
void hosts_pick_and_report(benchmark::State& state) {
  Hosts& hosts = *shared_hosts;
  const auto worker = static_cast<uint32_t>(state.thread_index());
  base::Rng rng(worker + 1);
  for (auto _ : state) {
    const PickedHost picked = hosts.pick(worker, rng.next()).value_or(PickedHost{});
    hosts.report(worker, picked, Outcome::kOk, 20ms);
  }
}

BENCHMARK(hosts_pick_and_report)
    ->Setup(set_up)
    ->Arg(1)
    ->Arg(4)
    ->Arg(64)
    ->ThreadRange(1, 4)
    ->UseRealTime();

void hosts_quiet_tick(benchmark::State& state) {
  std::vector<HostEvent> events;
  base::Instant now = kStart;
  for (auto _ : state) {
    shared_hosts->tick(now, events);
    now += 100ms;
  }
}

BENCHMARK(hosts_quiet_tick)->Setup(set_up)->Arg(4)->Arg(64);

}  // namespace
}  // namespace spillway::resilience
