#include "resilience/settings.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "resilience/checker.h"
#include "resilience/classic_rules.h"
#include "resilience/host_settings.h"
#include "resilience/problem.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

template <typename T>
void overlay(T& value, const std::optional<T>& patch) {
  value = patch.value_or(value);
}

}  // namespace

Settings apply(Settings base, const SettingsPatch& patch) {
  overlay(base.enforcement, patch.enforcement);
  overlay(base.rules, patch.rules);
  overlay(base.classic, patch.classic);
  overlay(base.open_min, patch.open_min);
  overlay(base.open_max, patch.open_max);
  overlay(base.ramp, patch.ramp);
  overlay(base.slow_floor, patch.slow_floor);
  overlay(base.slow_ceiling, patch.slow_ceiling);
  overlay(base.max_in_flight, patch.max_in_flight);
  overlay(base.limiter, patch.limiter);
  overlay(base.limit_min, patch.limit_min);
  overlay(base.limit_initial, patch.limit_initial);
  overlay(base.qps, patch.qps);
  overlay(base.probes_good, patch.probes_good);
  overlay(base.probes_of, patch.probes_of);
  overlay(base.probes_bad, patch.probes_bad);
  overlay(base.hosts, patch.hosts);
  return base;
}

namespace {

void check_classic(Checker& check, const ClassicRules& rules) {
  const bool time = rules.window == ClassicRules::Window::kTime;
  // One second alone would be a tumbling window: what just slid out decides nothing.
  check.within("classic.size", rules.size, time ? 2 : 1, time ? 3'600 : 10'000);
  check.within("classic.min_calls", rules.min_calls, 1, 10'000);
  check.within("classic.failure_rate", rules.failure_rate, 0.001, 1);
  check.within("classic.slow_rate", rules.slow_rate, 0.001, 1);
  check.within("classic.slow", rules.slow, milliseconds(1), minutes(10));
  if (rules.p99_ceiling != Duration::zero()) {
    check.within("classic.p99_ceiling", rules.p99_ceiling, milliseconds(1), rules.slow);
  }
  check.within("classic.half_open_calls", rules.half_open_calls, 1, 15);
  check.within("classic.open", rules.open, milliseconds(100), minutes(5));
  check.within("classic.open_growth", rules.open_growth, 1, 10);
  check.within("classic.open_jitter", rules.open_jitter, 0, 0.9);
  check.within("classic.open_cap", rules.open_cap, milliseconds(100), std::chrono::hours(1));
}

}  // namespace

std::vector<Problem> validate(const Settings& settings) {
  Checker check;
  check.within("open_min", settings.open_min, milliseconds(100), minutes(5));
  check.within("open_max", settings.open_max, settings.open_min, minutes(5));
  check.within("ramp", settings.ramp, seconds(1), minutes(5));
  check.within("slow_floor", settings.slow_floor, milliseconds(1), seconds(10));
  check.within("slow_ceiling", settings.slow_ceiling, settings.slow_floor, seconds(60));
  check.within("enough", settings.enough, Duration::zero(), seconds(60));
  check.within("max_in_flight", settings.max_in_flight, 0, 100'000);
  check.within("limit_min", settings.limit_min, 1, 100'000);
  check.within("limit_initial", settings.limit_initial, 0, 100'000);
  check.within("qps", settings.qps, 0, 10'000'000);
  check.within("probes_of", settings.probes_of, 1, 8);
  check.within("probes_good", settings.probes_good, 1, settings.probes_of);
  check.within("probes_bad", settings.probes_bad, 1, settings.probes_of);
  check_classic(check, settings.classic);
  std::vector<Problem> problems = check.take();
  for (Problem& problem : validate(settings.hosts)) {
    problems.push_back({.key = "hosts." + problem.key, .what = std::move(problem.what)});
  }
  return problems;
}

}  // namespace spillway::resilience
