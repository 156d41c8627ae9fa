#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/time.h"
#include "resilience/guard.h"
#include "resilience/guard_body.h"
#include "resilience/limiter.h"
#include "resilience/limiter_window.h"
#include "resilience/log_buckets.h"
#include "resilience/settings.h"
#include "resilience/shard.h"

// The limiter of a guard: what the ticking thread tells it, and the limit it publishes.

namespace spillway::resilience {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kConcurrencyIndex = 1;  ///< Of Refusal::kConcurrency among the refusals.

template <typename T>
T news(T& read, T now) {
  return now - std::exchange(read, now);
}

}  // namespace

void Guard::Body::make_limiter() {
  const Settings& settings = breaker.settings();
  const auto kind =
      settings.max_in_flight == 0 ? LimiterSettings::Algorithm::kNone : settings.limiter;
  const uint32_t max = std::max(settings.max_in_flight, 1U);
  const uint32_t min = std::clamp(settings.limit_min, 1U, max);
  if (kind == limiter_kind && limiter != nullptr) {
    limiter->set_bounds(min, max);
    return;
  }
  limiter_kind = kind;
  limit_judged_ns.store(0, kRelaxed);
  limiter = resilience::make_limiter({.algorithm = kind,
                                      .min = min,
                                      .max = max,
                                      .initial = settings.limit_initial,
                                      .harmless = settings.slow_floor,
                                      .max_healthy = settings.slow_ceiling});
}

void Guard::Body::publish_limit() {
  uint32_t limit = breaker.settings().max_in_flight;
  if (limiter != nullptr) {
    limit = limiter->limit();
    const bool known = limiter->uncongested_most() >= limit / 2;
    published.uncongested_shift.store(known ? 1 : 3, kRelaxed);
  }
  slots.set_limit(limit);
  published.limit.store(limit, kRelaxed);
}

void Guard::Body::watch_in_flight() {
  slots.settle();
  if (limiter == nullptr) {
    return;
  }
  uint64_t refused = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    refused +=
        news(reads[i].concurrency_refused, shards[i].refused[kConcurrencyIndex].value() +
                                               shards[i].would_refuse[kConcurrencyIndex].value());
  }
  const auto held = static_cast<uint32_t>(std::max<int64_t>(slots.held(), 0));
  limiter_window.note_in_flight(refused > 0 ? std::max(held, limiter->limit()) : held);
}

void Guard::Body::fold_limiter(base::Instant now) {
  if (limiter == nullptr) {
    return;
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    Shard& shard = shards[i];
    Read& read = reads[i];
    for (size_t bucket = 0; bucket < LogBuckets::kCount; ++bucket) {
      if (const auto count = news(read.uncongested[bucket], shard.uncongested.count(bucket))) {
        limiter_window.add_latencies(bucket, count, true);
      }
    }
    limiter_window.add_timeouts(news(read.timeouts, shard.timeouts.value()));
    limiter_window.add_overloads(news(read.overloads, shard.overloads.value()));
  }
  if (const auto window = limiter_window.close(now)) {
    limiter->observe(*window);
    limit_judged_ns.store(now.time_since_epoch().count(), kRelaxed);
    publish_limit();
  }
}

}  // namespace spillway::resilience
