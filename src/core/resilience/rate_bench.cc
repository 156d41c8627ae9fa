#include <atomic>
#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/rate.h"

// The floor is one relaxed increment of a word that all threads share.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

alignas(64) std::atomic<uint64_t> shared_count;

void rate_floor_relaxed_atomic_increment(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared_count.fetch_add(1, std::memory_order_relaxed));
  }
}

BENCHMARK(rate_floor_relaxed_atomic_increment)->ThreadRange(1, 2)->UseRealTime();

void rate_take(benchmark::State& state, uint32_t qps) {
  static QpsContract contract;
  contract.set_qps(qps);
  base::Instant now = kStart;
  for (auto _ : state) {
    benchmark::DoNotOptimize(contract.take(now));
    now += 1us;
  }
}

BENCHMARK_CAPTURE(rate_take, no_contract, 0)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK_CAPTURE(rate_take, in_force, 1'000'000)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK_CAPTURE(rate_take, refused, 10)->ThreadRange(1, 2)->UseRealTime();

}  // namespace
}  // namespace spillway::resilience
