#include "resilience/host_settings.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resilience/problem.h"
#include "resilience/sentence.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Sentence& add(Sentence& to, double value) { return to.decimal(value); }

Sentence& add(Sentence& to, Duration value) { return to.seconds(value); }

template <typename T>
void check(std::vector<Problem>& problems, std::string_view key, T value, T low, T high) {
  if (!(value >= low && value <= high)) {
    Sentence what;
    add(add(add(what, value).text(" is not between "), low).text(" and "), high);
    problems.push_back({.key = std::string(key), .what = what.str()});
  }
}

}  // namespace

std::vector<Problem> validate(const HostSettings& settings) {
  std::vector<Problem> bad;
  check<double>(bad, "consecutive_local", settings.consecutive_local, 1, 1'000);
  check<double>(bad, "consecutive_server_errors", settings.consecutive_server_errors, 1, 1'000);
  check<Duration>(bad, "interval", settings.interval, seconds(1), minutes(5));
  check<double>(bad, "volume", settings.volume, 10, 100'000);
  check<double>(bad, "min_failures", settings.min_failures, 1, 10'000);
  check<double>(bad, "success_floor", settings.success_floor, 0, 1);
  check<double>(bad, "deviations", settings.deviations, 0, 10);
  check<double>(bad, "latency_ratio", settings.latency_ratio, 1.5, 100);
  check<Duration>(bad, "slow_floor", settings.slow_floor, milliseconds(1), seconds(10));
  check<Duration>(bad, "eject_min", settings.eject_min, milliseconds(100), minutes(5));
  check<Duration>(bad, "eject_max", settings.eject_max, settings.eject_min, hours(1));
  check<double>(bad, "max_ejected", settings.max_ejected, 0, 1);
  check<double>(bad, "panic", settings.panic, 0, 1);
  check<Duration>(bad, "warm", settings.warm, milliseconds(100), minutes(5));
  check<double>(bad, "warm_from", settings.warm_from, 0.01, 1);
  return bad;
}

}  // namespace spillway::resilience
