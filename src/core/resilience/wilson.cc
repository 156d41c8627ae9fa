#include "resilience/wilson.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace spillway::resilience {

double wilson_lower_bound(uint64_t bad, uint64_t calls, double z) {
  if (calls == 0) {
    return 0.0;
  }
  const auto n = static_cast<double>(calls);
  const double share = static_cast<double>(bad) / n;
  const double z2 = z * z;
  const double middle = share + z2 / (2 * n);
  const double half = z * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return std::max(0.0, (middle - half) / (1 + z2 / n));
}

}  // namespace spillway::resilience
