#include "capacity/latency_offset.h"

#include <algorithm>
#include <cmath>

namespace spillway::capacity {

double waiting_probability(double cores, double utilization) {
  const int servers = std::max(1, static_cast<int>(cores));
  const double offered = servers * utilization;
  // Erlang B by its recursion, which neither overflows nor cancels.
  double blocked = 1;
  for (int i = 1; i <= servers; ++i) {
    blocked = offered * blocked / (i + offered * blocked);
  }
  return blocked / (1 - utilization * (1 - blocked));
}

double p99_wait(double cores, double utilization) {
  const double waiting = waiting_probability(cores, utilization);
  const int servers = std::max(1, static_cast<int>(cores));
  return std::max(0.0, std::log(100 * waiting) / (servers * (1 - utilization)));
}

double equal_wait_utilization(double cores, double reference_cores, double reference_utilization) {
  const double wanted = p99_wait(reference_cores, reference_utilization);
  if (wanted <= 0) {
    return reference_utilization;
  }
  double low = 0.001;
  double high = 0.999;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (p99_wait(cores, middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace spillway::capacity
