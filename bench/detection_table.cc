// How fast the usual rules open, and how often they open for nothing: the tables of
// docs/resilience.md.
//
//     detection_table [SEEDS [DAYS]]
//
// Virtual time, Poisson arrivals, a fake dependency that answers after 200 ms; healthy it fails 2 %
// of the calls, and from t = 0 each with the share shown. Seconds are from t = 0 to the transition.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "resilience/call_driver_test.h"
#include "resilience/guard.h"
#include "resilience/outcome.h"

namespace spillway::resilience {
namespace {

constexpr std::array kRates{0.5, 2.0, 5.0, 20.0, 200.0, 1000.0};
constexpr std::array kShares{0.6, 0.8, 1.0};
constexpr std::array kSteady{0.02, 0.05, 0.10, 0.20};
constexpr double kLimitSeconds = 60;

Dependency failing(double share) {
  return [=](base::Rng& rng) {
    return Reply{.latency = 200ms,
                 .outcome = rng.uniform() < share ? Outcome::kServerError : Outcome::kOk};
  };
}

void detection_row(double rate, uint64_t seeds) {
  std::printf("| %g |", rate);
  for (const double share : kShares) {
    std::vector<double> times;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      CallDriver driver(seed);
      driver.run(120s, rate, 300ms, failing(0.02));
      const auto opened = driver.until(State::kOpen, 60s, rate, 300ms, failing(share));
      times.push_back(opened ? base::to_ms(*opened) / 1000 : kLimitSeconds);
    }
    std::ranges::sort(times);
    const double median = times[times.size() / 2];
    const double p99 = times[times.size() * 99 / 100];
    std::printf(median < kLimitSeconds ? " %.1f / %.1f |" : " – |", median, p99);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Days are cut to `hours` where the rate is high; the count is scaled to a day.
void false_trip_row(double rate, int days) {
  const auto hours = rate < 100
                         ? std::chrono::hours(24 * days)
                         : std::chrono::hours(std::max(1, static_cast<int>(400 / rate)) * days);
  std::printf("| %g | %lld |", rate, static_cast<long long>(hours.count()));
  for (const double share : kSteady) {
    CallDriver driver(99);
    driver.run(hours, rate, 300ms, failing(share));
    std::printf(" %.1f |", driver.opened() * 24.0 / static_cast<double>(hours.count()));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace spillway::resilience

int main(int argc, char** argv) {
  const auto seeds =
      static_cast<uint64_t>(std::max(1L, argc > 1 ? std::strtol(argv[1], nullptr, 10) : 200L));
  const auto days =
      static_cast<int>(std::max(1L, argc > 2 ? std::strtol(argv[2], nullptr, 10) : 1L));
  std::printf("| calls/s | 0.6 bad | 0.8 bad | 1.0 bad |\n|---|---|---|---|\n");
  for (const double rate : spillway::resilience::kRates) {
    spillway::resilience::detection_row(rate,
                                        rate < 100 ? seeds : std::max<uint64_t>(1, seeds / 5));
  }
  std::printf("\n| calls/s | hours | 2 %% | 5 %% | 10 %% | 20 %% |\n|---|---|---|---|---|---|\n");
  for (const double rate : spillway::resilience::kRates) {
    spillway::resilience::false_trip_row(rate, days);
  }
  return 0;
}
