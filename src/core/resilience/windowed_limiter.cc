#include "resilience/windowed_limiter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/time.h"
#include "resilience/limiter.h"
#include "resilience/wilson.h"

namespace spillway::resilience {

namespace {

constexpr uint64_t kFewestAnswers = 10;
constexpr double kFollow = 0.2;
constexpr double kClearlyLower = 0.95;
constexpr double kSmooth = 0.5;
constexpr double kDriftPerMinute = 1.1;
constexpr double kDropMemorySeconds = 600;
constexpr double kMostUsualDrops = 0.25;
constexpr double kDoublingSeconds = 5;
constexpr double kMostCut = 0.7;
constexpr base::Duration kNoGrowth = std::chrono::seconds(2);
constexpr base::Duration kDropsRecent = std::chrono::minutes(1);

double seconds_of(base::Duration length) { return std::chrono::duration<double>(length).count(); }

}  // namespace

double allowed_queue(double limit) { return std::max(std::sqrt(limit) / 5, limit / 20); }

void UncongestedLatency::learn(const LimiterWindow& window, double smooth_low_ns,
                               bool load_is_not_why) {
  const bool enough = window.uncongested >= kFewestAnswers;
  const double own = enough && !load_is_not_why ? ns(window.uncongested_low) : smooth_low_ns;
  if (!known()) {
    low_ns_ = std::min(own, max_ns_);
    return;
  }
  const bool taken = enough || load_is_not_why;
  if (own < low_ns_ * (taken ? 1 : kClearlyLower)) {
    low_ns_ += kFollow * (own - low_ns_);
  } else if (own > low_ns_ && taken) {
    const double most = std::pow(kDriftPerMinute, seconds_of(window.length) / 60);
    const double wanted = low_ns_ + kFollow * (own - low_ns_);
    low_ns_ = std::max(low_ns_, std::min({wanted, low_ns_ * most, max_ns_}));
  }
}

double DropRule::factor(const LimiterWindow& window, double limit) {
  const uint64_t calls = window.answers + window.drops;
  const double share = static_cast<double>(window.drops) / static_cast<double>(calls);
  const double timeouts = static_cast<double>(window.timeouts) / static_cast<double>(calls);
  if (window.in_flight * 2.0 <= limit && share <= 0.5) {
    learnt_ += 1;
    const double memory = 1 - std::exp(-seconds_of(window.length) / kDropMemorySeconds);
    usual_ += std::max(memory, 1 / learnt_) * (timeouts - usual_);
    usual_ = std::min(usual_, kMostUsualDrops);
  }
  if (share > 0.5) {
    return 0.5;
  }
  const double most = usual_ > 0 ? 1.5 * usual_ + 0.05 : 0.05;
  return wilson_lower_bound(window.drops, calls, 2) > most ? 0.9 : 1.0;
}

WindowedLimiter::WindowedLimiter(const LimiterSettings& settings)
    : Limiter(std::clamp<double>(settings.initial == 0 ? settings.max : settings.initial,
                                 settings.min, std::max(settings.min, settings.max)),
              settings.min, std::max(settings.min, settings.max)),
      harmless_(settings.harmless),
      max_healthy_(settings.max_healthy),
      uncongested_(settings.max_healthy),
      before_drops_(limit_) {}

LimiterSignals WindowedLimiter::signals(const LimiterWindow& window) {
  LimiterSignals seen{.limit = limit_,
                      .harmless = window.median <= harmless_,
                      .too_slow = window.median > max_healthy_,
                      .seconds = seconds_of(window.length),
                      .in_flight = static_cast<double>(window.in_flight),
                      .median_ns = static_cast<double>(window.median.count())};
  const double goodput = static_cast<double>(window.answers) / std::max(seen.seconds, 1e-3);
  seen.queue = goodput * std::max(0.0, low_ns_ - uncongested_.low_ns()) / 1e9;
  seen.stretch = std::max(1.0, low_ns_ / uncongested_.low_ns());
  const bool falls = goodput < 0.9 * goodput_;
  goodput_ += (goodput_ > 0 ? 0.3 : 1.0) * (goodput - goodput_);
  seen.may_grow =
      seen.in_flight * 2 > limit_ && !falls && (!was_cut_ || window.at - last_cut_ >= kNoGrowth);
  seen.dropped = was_cut_ && window.at - last_cut_ < kDropsRecent;
  return seen;
}

void WindowedLimiter::observe(const LimiterWindow& window) {
  if (window.answers + window.drops == 0) {
    return;
  }
  const double cut = drops_.factor(window, limit_);
  if (cut < 1) {
    limit_ = std::max(min_, limit_ * cut);
    last_cut_ = window.at;
    was_cut_ = true;
    return;
  }
  const auto low_ns = static_cast<double>(window.low.count());
  if (window.answers < kFewestAnswers || low_ns <= 0) {
    return;
  }
  low_ns_ += (low_ns_ > 0 ? kSmooth : 1.0) * (low_ns - low_ns_);
  uncongested_.learn(window, low_ns_, load_is_not_why_);
  const LimiterSignals seen = signals(window);
  const double wanted = next(seen);
  const double most = seen.may_grow ? limit_ * std::exp2(seen.seconds / kDoublingSeconds) : limit_;
  limit_ = std::clamp(std::clamp(wanted, limit_ * kMostCut, most), min_, max_);
  before_drops_ = limit_;
}

void WindowedLimiter::restart() {
  limit_ = std::max(min_, std::max(limit_, std::min(before_drops_, max_)) / 4);
  before_drops_ = limit_;
}

}  // namespace spillway::resilience
