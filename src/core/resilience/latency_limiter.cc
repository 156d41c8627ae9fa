#include "resilience/latency_limiter.h"

#include <algorithm>

#include "resilience/windowed_limiter.h"

namespace spillway::resilience {

namespace {

constexpr double kGain = 0.25;
constexpr double kEnoughCut = 0.7;
constexpr double kResponse = 0.9;
constexpr double kWorse = 1.15;
constexpr int kSettle = 2;

}  // namespace

double LatencyLimiter::next(const LimiterSignals& signals) {
  const double limit = signals.limit;
  const double allowed = allowed_queue(limit);
  if (signals.queue > 1.3 * allowed && !signals.harmless) {
    return cut(signals, limit - kGain * (signals.queue - allowed));
  }
  const bool far = signals.queue < allowed / 4 || signals.harmless;
  if (far) {
    load_is_not_why_ = false;
  }
  if (!load_is_not_why_) {
    began_in_flight_ = 0;
  }
  if (far && !signals.dropped) {
    return limit + limit / 10 + 1;
  }
  if (signals.queue < allowed || far) {
    return limit + std::max(kGain * (allowed - signals.queue), limit / 50 + 0.25);
  }
  return limit;
}

double LatencyLimiter::cut(const LimiterSignals& signals, double wanted) {
  if (began_in_flight_ <= 0) {
    began_in_flight_ = std::min(signals.in_flight, signals.limit);
    began_median_ns_ = signals.median_ns;
    settled_ = 0;
  }
  if (load_is_not_why_ && !signals.too_slow && signals.median_ns < began_median_ns_ * kWorse) {
    return signals.limit;
  }
  if (load_is_not_why_) {
    load_is_not_why_ = false;
    began_in_flight_ = std::min(signals.in_flight, signals.limit);
    settled_ = 0;
  }
  began_median_ns_ = std::max(began_median_ns_, signals.median_ns);
  if (signals.too_slow) {
    return wanted;
  }
  const double enough = began_in_flight_ * kEnoughCut;
  settled_ += signals.limit <= enough ? 1 : 0;
  if (settled_ > 0 && settled_ <= kSettle) {
    return signals.limit;
  }
  if (signals.limit <= enough && signals.median_ns > began_median_ns_ * kResponse) {
    load_is_not_why_ = true;
    return signals.limit;
  }
  if (signals.limit <= enough) {
    // It answers to the cutting: judge the next stretch from here.
    began_in_flight_ = signals.limit;
    began_median_ns_ = signals.median_ns;
    settled_ = 0;
  }
  return std::max(wanted, began_in_flight_ * kEnoughCut * 0.999);
}

}  // namespace spillway::resilience
