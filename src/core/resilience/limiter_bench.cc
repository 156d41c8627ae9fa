#include <chrono>
#include <cstdint>
#include <memory>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/leaves_bench.h"
#include "resilience/limiter.h"

// Each law alone. The safe modes are shown one window a second of a leaf, the modes as Netflix has
// them every call: the call path itself only takes and gives back a slot (call/with_limiter).

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;
using Algorithm = LimiterSettings::Algorithm;

void law_window(benchmark::State& state, Algorithm algorithm) {
  const auto limiter = make_limiter({.algorithm = algorithm});
  LimiterWindow window{.length = 1s, .answers = 500, .low = 20ms, .in_flight = 60};
  window.uncongested = 100;
  window.uncongested_low = 18ms;
  base::Instant now = kStart;
  int64_t beat = 0;
  for (auto _ : state) {
    now += 1s;
    window.at = now;
    ++beat;
    window.median = 25ms + (beat & 7) * 10ms;
    window.drops = (beat & 63) == 0 ? 40 : 0;
    limiter->observe(window);
    benchmark::DoNotOptimize(limiter->limit());
  }
}

BENCHMARK_CAPTURE(law_window, vegas, Algorithm::kVegas);
BENCHMARK_CAPTURE(law_window, gradient2, Algorithm::kGradient2);
BENCHMARK_CAPTURE(law_window, aimd, Algorithm::kAimd);
BENCHMARK_CAPTURE(law_window, latency, Algorithm::kLatency);

void law_call(benchmark::State& state, Algorithm algorithm) {
  const auto limiter =
      make_limiter({.algorithm = algorithm, .netflix = true, .min = 1, .max = 1'000});
  base::Instant now = kStart;
  int64_t beat = 0;
  for (auto _ : state) {
    now += 1ms;
    ++beat;
    limiter->observe(
        LimiterWindow::of_call(now, 20ms + (beat & 7) * 1ms, limiter->limit(), (beat & 63) == 0));
    benchmark::DoNotOptimize(limiter->limit());
  }
}

BENCHMARK_CAPTURE(law_call, netflix_vegas, Algorithm::kVegas);
BENCHMARK_CAPTURE(law_call, netflix_gradient2, Algorithm::kGradient2);
BENCHMARK_CAPTURE(law_call, netflix_aimd, Algorithm::kAimd);

}  // namespace
}  // namespace spillway::resilience
