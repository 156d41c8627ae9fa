#include "resilience/limiter.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "resilience/aimd.h"
#include "resilience/gradient2.h"
#include "resilience/latency_limiter.h"
#include "resilience/vegas.h"

namespace spillway::resilience {

LimiterWindow LimiterWindow::of_call(base::Instant at, base::Duration latency, uint32_t in_flight,
                                     bool dropped) {
  const base::Duration sound = std::max(latency, base::Duration(1));
  return {.at = at,
          .length = {},
          .answers = 1,
          .drops = dropped ? 1U : 0U,
          .timeouts = 0,
          .low = sound,
          .median = sound,
          .uncongested = 0,
          .uncongested_low = {},
          .in_flight = in_flight};
}

void Limiter::set_bounds(double min, double max) {
  min_ = min;
  max_ = std::max(min, max);
  limit_ = std::clamp(limit_, min_, max_);
}

std::unique_ptr<Limiter> make_limiter(const LimiterSettings& settings) {
  const bool netflix = settings.netflix;
  switch (settings.algorithm) {
    case LimiterSettings::Algorithm::kNone:
      return nullptr;
    case LimiterSettings::Algorithm::kLatency:
      return std::make_unique<LatencyLimiter>(settings);
    case LimiterSettings::Algorithm::kVegas:
      return netflix ? std::unique_ptr<Limiter>(std::make_unique<NetflixVegas>(settings))
                     : std::make_unique<Vegas>(settings);
    case LimiterSettings::Algorithm::kGradient2:
      return netflix ? std::unique_ptr<Limiter>(std::make_unique<NetflixGradient2>(settings))
                     : std::make_unique<Gradient2>(settings);
    case LimiterSettings::Algorithm::kAimd:
      return netflix ? std::unique_ptr<Limiter>(std::make_unique<NetflixAimd>(settings))
                     : std::make_unique<Aimd>(settings);
  }
  return nullptr;
}

}  // namespace spillway::resilience
