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

void set_up(const Leaves& leaves) {
  guards.clear();
  hosts.clear();
  for (size_t i = 0; i < leaves.keys; ++i) {
    guards.push_back(guard_in_use("dsp/eu/" + std::to_string(i), leaves.settings));
    if (leaves.open) {
      std::vector<Transition> moves;
      guards.back()->set_mode(kStart, Mode::kForcedOpen, base::kNever, "bench", moves);
    }
    if (leaves.hosts > 0) {
      hosts.push_back(hosts_in_use(leaves.hosts));
    }
  }
}

void call(benchmark::State& state, const Leaves& leaves) {
  if (state.thread_index() == 0) {
    set_up(leaves);  // the others wait at the loop
  }
  const auto worker = static_cast<uint32_t>(state.thread_index());
  base::Rng rng(worker + 1);
  base::Instant now = kStart + 2s;
  uint64_t hash = worker * 17;
  for (auto _ : state) {
    const size_t key = ++hash & (leaves.keys - 1);
    auto permit = guards[key]->admit(worker, {.now = now, .offered = 300ms, .request_hash = hash});
    if (permit) {
      if (leaves.hosts > 0) {
        const PickedHost host = hosts[key]->pick(worker, rng.next()).value_or(PickedHost{});
        hosts[key]->report(worker, host, Outcome::kOk, 61ms);
      }
      permit->finish(now + 61ms, Outcome::kOk);
    }
    now += 1us;
  }
}

const Leaves kAlone{.settings = {.max_in_flight = 0}};
const Leaves kAlone64{.settings = {.max_in_flight = 0}, .keys = 64};
const Leaves kClassic{.settings = {.rules = Settings::Rules::kClassic, .max_in_flight = 0}};
const Leaves kRefused{.settings = {.max_in_flight = 0}, .open = true};
const Leaves kCap{.settings = {.limiter = LimiterSettings::Algorithm::kNone}};
const Leaves kCapAndQps{
    .settings = {.limiter = LimiterSettings::Algorithm::kNone, .qps = 10'000'000}};
const Leaves kLimiter{};
const Leaves kLimiter64{.keys = 64};
const Leaves kHosts{.hosts = 4};
const Leaves kHosts64{.keys = 64, .hosts = 4};

BENCHMARK_CAPTURE(call, closed, kAlone)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, closed_64_keys, kAlone64)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, closed_classic, kClassic)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, refused_open, kRefused)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, with_cap, kCap)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, with_cap_and_qps, kCapAndQps)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, with_limiter, kLimiter)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, with_limiter_64_keys, kLimiter64)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, with_limiter_and_hosts, kHosts)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_CAPTURE(call, with_limiter_and_hosts_64_keys, kHosts64)->ThreadRange(1, 4)->UseRealTime();

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
