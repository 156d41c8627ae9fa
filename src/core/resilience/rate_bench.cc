#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/leaves_bench.h"
#include "resilience/rate.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

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
