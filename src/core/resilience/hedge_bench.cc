#include <chrono>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/hedge.h"
#include "resilience/leaves_bench.h"
#include "resilience/outcome.h"
#include "resilience/retry_budget.h"

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

/// Calls of 10 ms, ten thousand a second.
void hedged_call_that_answers_in_time(benchmark::State& state) {
  Hedger hedger({}, kStart);
  base::Instant now = kStart;
  for (auto _ : state) {
    HedgedCall call(hedger);
    benchmark::DoNotOptimize(call.start(now, now + 100ms, false));
    benchmark::DoNotOptimize(call.on_result(now + 10ms, Leg::kFirst, Outcome::kOk));
    now += 100us;
  }
}

BENCHMARK(hedged_call_that_answers_in_time);

void hedged_call_whose_second_leg_wins(benchmark::State& state) {
  Hedger hedger({.budget = {.share = 1, .reserve_per_s = 1}}, kStart);
  base::Instant now = kStart;
  for (auto _ : state) {
    HedgedCall call(hedger);
    const base::Instant timer = call.start(now, now + 100ms, false);
    if (timer == base::kNever) {
      benchmark::DoNotOptimize(call.on_result(now + 10ms, Leg::kFirst, Outcome::kOk));
    } else if (call.on_timer(now + 12ms, {.circuits_closed = true, .other_host = true})) {
      call.on_sent();
      benchmark::DoNotOptimize(call.on_result(now + 13ms, Leg::kSecond, Outcome::kOk));
    }
    now += 100us;
  }
  state.counters["fired"] =
      static_cast<double>(hedger.counters().fired) / static_cast<double>(hedger.counters().starts);
}

BENCHMARK(hedged_call_whose_second_leg_wins);

void retry_budget_start_and_take(benchmark::State& state) {
  RetryBudget budget({.share = 0.05, .reserve_per_s = 1});
  base::Instant now = kStart;
  for (auto _ : state) {
    budget.start(now);
    benchmark::DoNotOptimize(budget.take(now));
    now += 100us;
  }
}

BENCHMARK(retry_budget_start_and_take);

}  // namespace
}  // namespace spillway::resilience
