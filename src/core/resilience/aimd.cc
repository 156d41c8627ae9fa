#include "resilience/aimd.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

NetflixAimd::NetflixAimd(const LimiterSettings& settings)
    : Limiter(settings.initial == 0 ? 20 : settings.initial, 20, settings.max) {}

void NetflixAimd::observe(const LimiterWindow& window) {
  double wanted = limit_;
  if (window.drops > 0 || window.median > std::chrono::seconds(5)) {
    wanted = std::floor(limit_ * 0.9);
  } else if (window.in_flight * 2.0 >= limit_) {
    wanted = limit_ + 1;
  }
  limit_ = std::min(max_, std::max(min_, wanted));
}

double Aimd::next(const LimiterSignals& signals) {
  if (signals.too_slow) {
    return signals.limit * 0.9;
  }
  return signals.limit + std::max(1.0, signals.limit / 50);
}

}  // namespace spillway::resilience
