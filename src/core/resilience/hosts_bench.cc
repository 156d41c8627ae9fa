#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/host_settings.h"
#include "resilience/hosts.h"
#include "resilience/outcome.h"

// The floor first: compare with it, from the same run.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

alignas(64) std::atomic<uint64_t> shared_count;
std::unique_ptr<Hosts> shared_hosts;

void hosts_floor_relaxed_atomic_increment(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared_count.fetch_add(1, std::memory_order_relaxed));
  }
}

BENCHMARK(hosts_floor_relaxed_atomic_increment)->Threads(1)->Threads(2)->UseRealTime();

void hosts_floor_random_number(benchmark::State& state) {
  base::Rng rng(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rng.next());
  }
}

BENCHMARK(hosts_floor_random_number);

void set_up(const benchmark::State& state) {
  shared_hosts = std::make_unique<Hosts>(HostSettings{}, 4, 1, kStart);
  std::vector<uint64_t> ids(static_cast<size_t>(state.range(0)));
  std::iota(ids.begin(), ids.end(), 1);
  std::vector<HostEvent> events;
  shared_hosts->set_hosts(kStart, ids, events);
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
    ->Threads(1)
    ->Threads(2)
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
