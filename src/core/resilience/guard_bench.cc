#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/time.h"
#include "resilience/classic.h"
#include "resilience/classic_rules.h"
#include "resilience/guard.h"
#include "resilience/limiter.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

// Floors first: compare the guard's lines with them, from the same run.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart{1h};

alignas(64) std::atomic<uint64_t> shared_count;
std::unique_ptr<Guard> shared_guard;

void floor_relaxed_atomic_increment(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared_count.fetch_add(1, std::memory_order_relaxed));
  }
}

BENCHMARK(floor_relaxed_atomic_increment)->Threads(1)->Threads(2)->UseRealTime();

void floor_clock_read(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::chrono::steady_clock::now());
  }
}

BENCHMARK(floor_clock_read);

/// One guard for all threads of a run; it knows its dependency's latencies.
void set_up(const Settings& settings, bool open) {
  shared_guard = std::make_unique<Guard>("dsp/eu/display", settings, 4, 1, kStart);
  std::vector<Transition> moves;
  for (int i = 0; i < 300; ++i) {
    auto permit = shared_guard->admit(0, {.now = kStart, .offered = 300ms});
    permit->finish(kStart + 60ms, Outcome::kOk);
  }
  shared_guard->tick(kStart + 1s, moves);
  if (open) {
    shared_guard->set_mode(kStart, Mode::kForcedOpen, base::kNever, "bench", moves);
  }
}

void admit_and_finish(benchmark::State& state) {
  Guard& guard = *shared_guard;
  const auto worker = static_cast<uint32_t>(state.thread_index());
  base::Instant now = kStart + 2s;
  uint64_t hash = 1;
  for (auto _ : state) {
    auto permit = guard.admit(worker, {.now = now, .offered = 300ms, .request_hash = ++hash});
    if (permit) {
      permit->finish(now + 61ms, Outcome::kOk);
    }
    now += 1us;
  }
}

void closed(benchmark::State& state) { admit_and_finish(state); }

BENCHMARK(closed)
    ->Setup([](const benchmark::State&) { set_up({.max_in_flight = 0}, false); })
    ->Threads(1)
    ->Threads(2)
    ->Threads(4)
    ->UseRealTime();

void closed_by_classic_rules(benchmark::State& state) { admit_and_finish(state); }

BENCHMARK(closed_by_classic_rules)
    ->Setup([](const benchmark::State&) {
      set_up({.rules = Settings::Rules::kClassic, .max_in_flight = 0}, false);
    })
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();

/// The breaker that decides on every event; one thread, no guard around it.
void classic_breaker_alone(benchmark::State& state) {
  ClassicBreaker breaker(ClassicRules{}, 1);
  base::Instant now = kStart;
  for (auto _ : state) {
    if (const auto place = breaker.acquire(now)) {
      breaker.finish(now + 61ms, *place, ClassicBreaker::Result::kOk, 61ms);
    }
    now += 1us;
  }
  benchmark::DoNotOptimize(breaker.window().total());
}

BENCHMARK(classic_breaker_alone);

void refused_open(benchmark::State& state) { admit_and_finish(state); }

BENCHMARK(refused_open)
    ->Setup([](const benchmark::State&) { set_up({.max_in_flight = 0}, true); })
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();

void closed_with_in_flight_cap(benchmark::State& state) { admit_and_finish(state); }

BENCHMARK(closed_with_in_flight_cap)
    ->Setup([](const benchmark::State&) {
      set_up({.max_in_flight = 512, .limiter = LimiterSettings::Algorithm::kNone}, false);
    })
    ->Threads(1)
    ->Threads(2)
    ->Threads(4)
    ->UseRealTime();

void closed_with_limiter(benchmark::State& state) { admit_and_finish(state); }

BENCHMARK(closed_with_limiter)
    ->Setup([](const benchmark::State&) { set_up({}, false); })
    ->Threads(1)
    ->Threads(2)
    ->Threads(4)
    ->UseRealTime();

/// 64 guards, each thread through all of them from another start.
void closed_with_limiter_on_many_keys(benchmark::State& state) {
  static std::vector<std::unique_ptr<Guard>> guards;
  if (state.thread_index() == 0) {
    guards.clear();
    for (int i = 0; i < 64; ++i) {
      guards.push_back(
          std::make_unique<Guard>("dsp/eu/" + std::to_string(i), Settings{}, 4, 1, kStart));
    }
  }
  const auto worker = static_cast<uint32_t>(state.thread_index());
  uint64_t hash = worker * 17;
  for (auto _ : state) {
    auto permit = guards[++hash % 64]->admit(
        worker, {.now = kStart + 2s, .offered = 300ms, .request_hash = hash});
    if (permit) {
      permit->finish(kStart + 2s + 61ms, Outcome::kOk);
    }
  }
}

BENCHMARK(closed_with_limiter_on_many_keys)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();

void closed_with_cap_and_qps(benchmark::State& state) { admit_and_finish(state); }

BENCHMARK(closed_with_cap_and_qps)
    ->Setup([](const benchmark::State&) {
      set_up({.max_in_flight = 512, .qps = 10'000'000}, false);
    })
    ->Threads(1)
    ->Threads(2)
    ->UseRealTime();

void tick_of_one_leaf(benchmark::State& state) {
  set_up({}, false);
  std::vector<Transition> moves;
  base::Instant now = kStart + 2s;
  for (auto _ : state) {
    shared_guard->tick(now, moves);
    now += 100ms;
  }
}

BENCHMARK(tick_of_one_leaf);

}  // namespace
}  // namespace spillway::resilience
