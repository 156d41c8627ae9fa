#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/breaker.h"
#include "resilience/classic.h"
#include "resilience/classic_rules.h"
#include "resilience/leaves_bench.h"
#include "resilience/probe_slot.h"
#include "resilience/settings.h"
#include "resilience/trip.h"
#include "resilience/window.h"

// The rules of a breaker, each alone: what one judgement costs the ticking thread. The call path
// never judges.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

void rule_r1_fast(benchmark::State& state) {
  uint64_t bad = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(r1_fast({.calls = 400, .bad = 200 + (++bad & 127)}, 0.3));
  }
}

BENCHMARK(rule_r1_fast);

void rule_r2_slow(benchmark::State& state) {
  uint64_t bad = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(r2_slow({.calls = 16, .bad = ++bad & 15}, 0.3));
  }
}

BENCHMARK(rule_r2_slow);

/// A row of eight, then its verdict.
void rule_r3_run(benchmark::State& state) {
  BadRun run;
  base::Instant now = kStart;
  std::vector<BadCall> bads(1);
  for (auto _ : state) {
    bads[0] = {.started = now - 61ms, .ended = now};
    run.advance(now, bads, now - 8s);
    benchmark::DoNotOptimize(run.trips(12));
    now += 1s;
  }
}

BENCHMARK(rule_r3_run);

/// A whole tick of the state machine, closed, with a tenth of `range` calls bad.
void breaker_tick(benchmark::State& state, Settings::Rules rules) {
  Breaker breaker({.rules = rules}, 1, kStart);
  const auto calls = static_cast<uint64_t>(state.range(0));
  Fold fold;
  fold.good = calls - calls / 10;
  fold.bad = calls / 10;
  base::Instant now = kStart;
  for (auto _ : state) {
    now += 100ms;
    benchmark::DoNotOptimize(breaker.tick(now, fold, ProbeRound{}));
  }
}

BENCHMARK_CAPTURE(breaker_tick, spillway, Settings::Rules::kSpillway)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(breaker_tick, classic, Settings::Rules::kClassic)->Arg(1)->Arg(100);

/// The breaker that decides on every event: one call, one thread, no guard around it.
void classic_breaker_call(benchmark::State& state, ClassicRules rules) {
  ClassicBreaker breaker(rules, 1);
  base::Instant now = kStart;
  for (auto _ : state) {
    if (const auto place = breaker.acquire(now)) {
      breaker.finish(now + 61ms, *place, ClassicBreaker::Result::kOk, 61ms);
    }
    now += 1us;
  }
  benchmark::DoNotOptimize(breaker.window().total());
}

BENCHMARK_CAPTURE(classic_breaker_call, count_100, ClassicRules{});
BENCHMARK_CAPTURE(classic_breaker_call, time_10s,
                  ClassicRules{.window = ClassicRules::Window::kTime, .size = 10});

}  // namespace
}  // namespace spillway::resilience
