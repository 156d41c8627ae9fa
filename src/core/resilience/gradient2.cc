#include "resilience/gradient2.h"

#include <algorithm>
#include <cstdint>

#include "resilience/limiter.h"
#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

namespace {

constexpr uint32_t kWarmUp = 10;
constexpr double kFactor = 2.0 / (600 + 1);
constexpr double kTolerance = 1.5;
constexpr double kSmoothing = 0.2;
constexpr double kSafeTolerance = 1.09;

}  // namespace

NetflixGradient2::NetflixGradient2(const LimiterSettings& settings)
    : Limiter(settings.initial == 0 ? 20 : settings.initial, 20, settings.max) {}

double NetflixGradient2::follow(double latency_ns) {
  if (calls_ < kWarmUp) {
    ++calls_;
    sum_ns_ += latency_ns;
    long_ns_ = sum_ns_ / calls_;
  } else {
    long_ns_ = long_ns_ * (1 - kFactor) + latency_ns * kFactor;
  }
  const double now = long_ns_;
  if (now / latency_ns > 2) {
    long_ns_ *= 0.95;
  }
  return now;
}

void NetflixGradient2::observe(const LimiterWindow& window) {
  const auto latency_ns = static_cast<double>(window.median.count());
  const double usual_ns = follow(latency_ns);
  if (window.in_flight < limit_ / 2) {
    return;
  }
  const double gradient = std::max(0.5, std::min(1.0, kTolerance * usual_ns / latency_ns));
  const double wanted = limit_ * gradient + 4;
  const double smooth = limit_ * (1 - kSmoothing) + wanted * kSmoothing;
  limit_ = std::max(min_, std::min(max_, smooth));
}

double Gradient2::next(const LimiterSignals& signals) {
  const double limit = signals.limit;
  const double gradient =
      signals.harmless ? 1.0 : std::clamp(kSafeTolerance / signals.stretch, 0.5, 1.0);
  double wanted = gradient * limit + allowed_queue(limit);
  if (gradient < 0.9) {
    wanted = std::min(wanted, limit);
  }
  return limit * (1 - kSmoothing) + wanted * kSmoothing;
}

}  // namespace spillway::resilience
