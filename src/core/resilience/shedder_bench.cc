#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/leaves_bench.h"
#include "resilience/shedder.h"

// One decision a request.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

void decide(benchmark::State& state, base::Duration queue_age) {
  Shedder shedder(ShedSettings{});
  base::Instant now = kStart;
  uint8_t rank = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        shedder.decide(now, queue_age, 100, static_cast<Criticality>(rank++ % kCriticalities)));
    now += 100us;
  }
}

BENCHMARK_CAPTURE(decide, short_queue, 50us);
BENCHMARK_CAPTURE(decide, standing_queue, 9ms);

}  // namespace
}  // namespace spillway::resilience
