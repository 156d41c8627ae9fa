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

template <const Leaves& kLeaves>
void set_up(const benchmark::State& /*state*/) {
  guards.clear();
  hosts.clear();
  for (size_t i = 0; i < kLeaves.keys; ++i) {
    guards.push_back(guard_in_use("dsp/eu/" + std::to_string(i), kLeaves.settings));
    if (kLeaves.open) {
      std::vector<Transition> moves;
      guards.back()->set_mode(kStart, Mode::kForcedOpen, base::kNever, "bench", moves);
    }
    if (kLeaves.hosts > 0) {
      hosts.push_back(hosts_in_use(kLeaves.hosts));
    }
  }
}

template <const Leaves& kLeaves>
void call(benchmark::State& state) {
  const auto worker = static_cast<uint32_t>(state.thread_index());
  const auto* const all = guards.data();
  base::Rng rng(worker + 1);
  base::Instant now = kStart + 2s;
  uint64_t hash = worker * 17;
  for (auto _ : state) {
    const size_t key = ++hash % kLeaves.keys;
    auto permit = all[key]->admit(worker, {.now = now, .offered = 300ms, .request_hash = hash});
    if (permit) {
      if constexpr (kLeaves.hosts > 0) {
        const PickedHost host = hosts[key]->pick(worker, rng.next()).value_or(PickedHost{});
        hosts[key]->report(worker, host, Outcome::kOk, 61ms);
      }
      permit->finish(now + 61ms, Outcome::kOk);
    }
    now += 1us;
  }
}

template <const Leaves& kLeaves>
void each_number_of_threads(const char* name) {
  benchmark::RegisterBenchmark(name, call<kLeaves>)
      ->Setup(set_up<kLeaves>)
      ->ThreadRange(1, kBenchThreads)
      ->UseRealTime();
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

[[maybe_unused]] const bool kRegistered = [] {
  each_number_of_threads<kAlone>("call/closed");
  each_number_of_threads<kAlone64>("call/closed_64_keys");
  each_number_of_threads<kClassic>("call/closed_classic");
  each_number_of_threads<kRefused>("call/refused_open");
  each_number_of_threads<kCap>("call/with_cap");
  each_number_of_threads<kCapAndQps>("call/with_cap_and_qps");
  each_number_of_threads<kLimiter>("call/with_limiter");
  each_number_of_threads<kLimiter64>("call/with_limiter_64_keys");
  each_number_of_threads<kHosts>("call/with_limiter_and_hosts");
  each_number_of_threads<kHosts64>("call/with_limiter_and_hosts_64_keys");
  return true;
}();

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
