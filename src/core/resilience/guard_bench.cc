#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/hosts.h"
#include "resilience/leaves_bench.h"
#include "resilience/limiter.h"
#include "resilience/outcome.h"
#include "resilience/settings.h"

// One call: admit and finish, with what a leaf has around them. Each thread is a worker; with many
// keys each thread goes through all of them from another start.

namespace spillway::resilience {
namespace {

using namespace std::chrono_literals;

struct Leaves {
  Settings settings{};
  size_t keys = 1;
  size_t hosts = 0;  ///< Of a leaf; 0: no Hosts.
  bool open = false;
};

std::vector<std::unique_ptr<Guard>> guards;
std::vector<std::unique_ptr<Hosts>> hosts;

template <const Leaves& Which>
void set_up(const benchmark::State& /*state*/) {
  guards.clear();
  hosts.clear();
  for (size_t i = 0; i < Which.keys; ++i) {
    guards.push_back(guard_in_use("dsp/eu/" + std::to_string(i), Which.settings));
    if (Which.open) {
      std::vector<Transition> moves;
      guards.back()->set_mode(kStart, Mode::kForcedOpen, base::kNever, "bench", moves);
    }
    if (Which.hosts > 0) {
      hosts.push_back(hosts_in_use(Which.hosts));
    }
  }
}

template <const Leaves& Which>
void call(benchmark::State& state) {
  const auto worker = static_cast<uint32_t>(state.thread_index());
  const auto* const all = guards.data();
  base::Rng rng(worker + 1);
  base::Instant now = kStart + 2s;
  uint64_t hash = worker * 17;
  for (auto _ : state) {
    const size_t key = ++hash % Which.keys;
    auto permit = all[key]->admit(worker, {.now = now, .offered = 300ms, .request_hash = hash});
    if (permit) {
      if constexpr (Which.hosts > 0) {
        const PickedHost host = hosts[key]->pick(worker, rng.next()).value_or(PickedHost{});
        hosts[key]->report(worker, host, Outcome::kOk, 61ms);
      }
      permit->finish(now + 61ms, Outcome::kOk);
    }
    now += 1us;
  }
}

template <const Leaves& Which>
void on_threads(benchmark::internal::Benchmark* bench) {
  bench->Setup(set_up<Which>)->ThreadRange(1, kBenchThreads)->UseRealTime();
}

constexpr Leaves kAlone{.settings = {.max_in_flight = 0}};
constexpr Leaves kAlone64{.settings = {.max_in_flight = 0}, .keys = 64};
constexpr Leaves kClassic{.settings = {.rules = Settings::Rules::kClassic, .max_in_flight = 0}};
constexpr Leaves kRefused{.settings = {.max_in_flight = 0}, .open = true};
constexpr Leaves kCap{.settings = {.limiter = LimiterSettings::Algorithm::kNone}};
constexpr Leaves kCapAndQps{
    .settings = {.limiter = LimiterSettings::Algorithm::kNone, .qps = 10'000'000}};
constexpr Leaves kLimiter{};
constexpr Leaves kLimiter64{.keys = 64};
constexpr Leaves kHosts{.hosts = 4};
constexpr Leaves kHosts64{.keys = 64, .hosts = 4};

BENCHMARK(call<kAlone>)->Name("call/closed")->Apply(on_threads<kAlone>);
BENCHMARK(call<kAlone64>)->Name("call/closed_64_keys")->Apply(on_threads<kAlone64>);
BENCHMARK(call<kClassic>)->Name("call/closed_classic")->Apply(on_threads<kClassic>);
BENCHMARK(call<kRefused>)->Name("call/refused_open")->Apply(on_threads<kRefused>);
BENCHMARK(call<kCap>)->Name("call/with_cap")->Apply(on_threads<kCap>);
BENCHMARK(call<kCapAndQps>)->Name("call/with_cap_and_qps")->Apply(on_threads<kCapAndQps>);
BENCHMARK(call<kLimiter>)->Name("call/with_limiter")->Apply(on_threads<kLimiter>);
BENCHMARK(call<kLimiter64>)->Name("call/with_limiter_64_keys")->Apply(on_threads<kLimiter64>);
BENCHMARK(call<kHosts>)->Name("call/with_limiter_and_hosts")->Apply(on_threads<kHosts>);
BENCHMARK(call<kHosts64>)->Name("call/with_limiter_and_hosts_64_keys")->Apply(on_threads<kHosts64>);

/// What a leaf costs its ticking thread, ten times a second.
void tick_of_one_leaf(benchmark::State& state) {
  const auto guard = guard_in_use("dsp/eu/display", {});
  std::vector<Transition> moves;
  base::Instant now = kStart + 2s;
  for (auto _ : state) {
    guard->tick(now, moves);
    now += 100ms;
  }
}

BENCHMARK(tick_of_one_leaf);

}  // namespace
}  // namespace spillway::resilience
