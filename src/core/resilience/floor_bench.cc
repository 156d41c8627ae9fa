#include <atomic>
#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/rng.h"

// What every other line of this program is to be compared with, in the same run.

namespace spillway::resilience {
namespace {

alignas(64) std::atomic<uint64_t> shared_count;

void floor_atomic_increment(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared_count.fetch_add(1, std::memory_order_relaxed));
  }
}

BENCHMARK(floor_atomic_increment)->ThreadRange(1, 4)->UseRealTime();

void floor_clock_read(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::chrono::steady_clock::now());
  }
}

BENCHMARK(floor_clock_read);

void floor_random_number(benchmark::State& state) {
  base::Rng rng(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rng.next());
  }
}

BENCHMARK(floor_random_number);

}  // namespace
}  // namespace spillway::resilience
