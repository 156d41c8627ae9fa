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
  const bool dropped = window.drops > 0;
  if (!dropped && window.in_flight * 2.0 < limit_) {
    return;
  }
  double step = 0;
  if (dropped || queue > 6 * unit) {
    step = -unit;
  } else if (queue <= unit) {
    step = 6 * unit;
  } else if (queue < 3 * unit) {
    step = unit;
  }
  limit_ = std::max(1.0, std::min(max_, limit_ + step));
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
