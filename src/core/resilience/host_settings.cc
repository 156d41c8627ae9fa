#include "resilience/host_settings.h"

#include <chrono>
#include <vector>

#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::resilience {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::vector<Problem> validate(const HostSettings& settings) {
  Checker check;
  check.within("consecutive_local", settings.consecutive_local, 1, 1'000);
  check.within("consecutive_server_errors", settings.consecutive_server_errors, 1, 1'000);
  check.within("interval", settings.interval, seconds(1), minutes(5));
  check.within("volume", settings.volume, 10, 100'000);
  check.within("min_failures", settings.min_failures, 1, 10'000);
  check.within("success_floor", settings.success_floor, 0, 1);
  check.within("deviations", settings.deviations, 0, 10);
  check.within("latency_ratio", settings.latency_ratio, 1.5, 100);
  check.within("slow_floor", settings.slow_floor, milliseconds(1), seconds(10));
  check.within("eject_min", settings.eject_min, milliseconds(100), minutes(5));
  check.within("eject_max", settings.eject_max, settings.eject_min, hours(1));
  check.within("max_ejected", settings.max_ejected, 0, 1);
  check.within("panic", settings.panic, 0, 1);
  check.within("warm", settings.warm, milliseconds(100), minutes(5));
  check.within("warm_from", settings.warm_from, 0.01, 1);
  return check.take();
}

}  // namespace spillway::resilience
