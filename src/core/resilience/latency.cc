#include "resilience/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "resilience/log_buckets.h"

namespace spillway::resilience {

namespace {

using base::Duration;
using base::Instant;

constexpr double kLatencyMemorySeconds = 120;
constexpr double kOfferedMemorySeconds = 600;
constexpr double kFreeUntil = 200;
constexpr double kMinWeight = 20;
constexpr double kDriftPerMinute = 1.1;
constexpr uint64_t kSilentCalls = 20;
// A late answer may still be under way that long: high rates must not turn 20 calls into a verdict.
constexpr Duration kSilentFor = std::chrono::seconds(1);

Duration scaled(Duration value, double factor) {
  return Duration(static_cast<int64_t>(static_cast<double>(value.count()) * factor));
}

Duration drift(Duration from, Duration to, double limit) {
  return std::clamp(to, scaled(from, 1 / limit), scaled(from, limit));
}

}  // namespace

void FadingHistogram::add(size_t bucket, uint32_t count) {
  counts_[bucket] += static_cast<float>(count);
  weight_ += count;
}

void FadingHistogram::fade(double keep) {
  weight_ = 0;
  for (float& count : counts_) {
    count *= static_cast<float>(keep);
    weight_ += static_cast<double>(count);
  }
}

Duration FadingHistogram::quantile(double ratio) const {
  const double wanted = ratio * weight_;
  double below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const auto count = static_cast<double>(counts_[i]);
    if (count > 0 && below + count >= wanted) {
      const double low = LogBuckets::lower_ns(i);
      const double part = std::clamp((wanted - below) / count, 0.0, 1.0);
      return Duration(static_cast<int64_t>(low + (LogBuckets::lower_ns(i + 1) - low) * part));
    }
    below += count;
  }
  return {};
}

void LatencyBaseline::add_latency(size_t bucket, uint32_t count) {
  latencies_.add(bucket, count);
  seen_ += count;
}

void LatencyBaseline::add_offered(size_t bucket, uint32_t count) { offered_.add(bucket, count); }

void LatencyBaseline::note_silence(Instant now, uint64_t answers, uint64_t silent) {
  if (answers > 0) {
    silent_ = 0;
  } else if (silent > 0) {
    if (silent_ == 0) {
      silent_since_ = now;
    }
    silent_ += silent;
  }
  hanging_ = silent_ + 1 >= kSilentCalls && now - silent_since_ >= kSilentFor;
}

void LatencyBaseline::update(Instant now, bool healthy) {
  const double seconds =
      std::clamp(std::chrono::duration<double>(now - last_update_).count(), 0.0, 60.0);
  last_update_ = std::max(last_update_, now);
  if (offered_.weight() > 0) {
    median_offered_ = offered_.quantile(0.5);
  }
  if (seen_ >= kKnownAfter && latencies_.weight() >= kMinWeight && (healthy || !known_)) {
    const bool free = !known_ || seen_ < kFreeUntil;
    const double limit = std::pow(kDriftPerMinute, seconds / 60);
    const Duration p50 = latencies_.quantile(0.5);
    const Duration p90 = latencies_.quantile(0.9);
    p50_ = free ? p50 : drift(p50_, p50, limit);
    p90_ = free ? p90 : drift(p90_, p90, limit);
    known_ = true;
  }
  // Faded after use, and never to nothing: a quiet hour forgets no usual latency.
  if (latencies_.weight() > kMinWeight) {
    latencies_.fade(std::exp(-seconds / kLatencyMemorySeconds));
  }
  if (offered_.weight() > kMinWeight) {
    offered_.fade(std::exp(-seconds / kOfferedMemorySeconds));
  }
}

Duration LatencyBaseline::fair() const {
  if (!known_) {
    return hanging_ ? Duration{} : std::chrono::milliseconds(100);
  }
  return std::min(scaled(p90_, 1.2), scaled(median_offered_, 0.9));
}

}  // namespace spillway::resilience
