#include "resilience/vegas.h"

#include <algorithm>
#include <cmath>

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

NetflixVegas::NetflixVegas(const LimiterSettings& settings)
    : Limiter(settings.initial == 0 ? 20 : settings.initial, 1, settings.max),
      probe_jitter_(settings.probe_jitter) {}

void NetflixVegas::observe(const LimiterWindow& window) {
  const auto latency_ns = static_cast<double>(window.median.count());
  calls_ += 1;
  if (probe_jitter_ * 30 * limit_ <= calls_) {
    calls_ = 0;
    base_ns_ = latency_ns;
    return;
  }
  if (base_ns_ == 0 || latency_ns < base_ns_) {
    base_ns_ = latency_ns;
    return;
  }
  const double unit = std::max(1.0, std::floor(std::log10(std::floor(limit_))));
  const double queue = std::ceil(limit_ * (1 - base_ns_ / latency_ns));
  double wanted = limit_;
  if (window.drops > 0) {
    wanted = limit_ - unit;
  } else if (window.in_flight * 2.0 < limit_) {
    return;
  } else if (queue <= unit) {
    wanted = limit_ + 6 * unit;
  } else if (queue < 3 * unit) {
    wanted = limit_ + unit;
  } else if (queue > 6 * unit) {
    wanted = limit_ - unit;
  } else {
    return;
  }
  limit_ = std::max(1.0, std::min(max_, wanted));
}

double Vegas::next(const LimiterSignals& signals) {
  const double unit = std::max(1.0, std::floor(std::log10(signals.limit)));
  if (signals.harmless || signals.queue < 3 * unit) {
    return signals.limit + unit;
  }
  if (signals.queue > 6 * unit) {
    return signals.limit - std::max(unit, (signals.queue - 6 * unit) / 4);
  }
  return signals.limit;
}

}  // namespace spillway::resilience
