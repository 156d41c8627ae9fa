#include "resilience/trip.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include "base/time.h"
#include "resilience/wilson.h"
#include "resilience/window.h"

namespace spillway::resilience {

namespace {

constexpr double kMinRatio = 0.001;
constexpr double kMaxRatio = 0.25;
constexpr double kMemorySeconds = 600.0;
constexpr double kMinWeight = 20.0;
/// Overload on nearly half of the calls is nobody's fault and must not look like a run: at 40 % and
/// five calls a second, 16 in a row come once in ten days.
constexpr uint64_t kOverloadsPerBad = 4;

}  // namespace

void BadRatioBaseline::learn(base::Instant now, const Tally& tally) {
  const Evidence seen = evidence_of(tally);
  if (seen.calls == 0) {
    return;
  }
  const double elapsed = std::chrono::duration<double>(now - last_).count();
  const double fade = std::exp(-std::clamp(elapsed, 0.0, 1e6) / kMemorySeconds);
  last_ = std::max(last_, now);
  // The weight of old evidence never fades away: a quiet hour must not make one call decide.
  const double keep = std::max(fade, std::min(1.0, kMinWeight / calls_));
  bad_ = bad_ * keep + static_cast<double>(seen.bad);
  calls_ = calls_ * keep + static_cast<double>(seen.calls);
}

double BadRatioBaseline::ratio() const { return std::clamp(bad_ / calls_, kMinRatio, kMaxRatio); }

double BadRatioBaseline::threshold() const { return std::max(0.3, 2 * ratio()); }

uint32_t BadRatioBaseline::run_length() const {
  const double length = std::ceil(std::log(1e-6) / std::log(ratio()));
  return static_cast<uint32_t>(std::clamp(length, 4.0, 12.0));
}

void BadRun::advance(base::Instant now, std::span<const BadCall> bads, base::Instant last_good) {
  last_good_ = std::max(last_good_, last_good);
  calls_.insert(calls_.end(), bads.begin(), bads.end());
  std::erase_if(calls_, [&](const BadCall& call) {
    return call.ended <= last_good_ || now - call.ended > kMaxAge;
  });
  std::ranges::sort(calls_, {}, &BadCall::ended);
  if (calls_.size() > kCapacity) {
    calls_.erase(calls_.begin(), calls_.end() - static_cast<std::ptrdiff_t>(kCapacity));
  }
}

void BadRun::clear() {
  calls_.clear();
  last_good_ = base::Instant::min();
}

bool BadRun::trips(uint32_t length, std::span<const BadCall> overdue) const {
  uint64_t bad = 0;
  uint64_t overloads = 0;
  base::Instant first_known = base::kNever;
  const auto of_run = [&](const BadCall& call) { return call.ended > last_good_; };
  const auto count = [&](const BadCall& call) {
    (call.overload ? overloads : bad) += 1;
    first_known = std::min(first_known, call.ended);
  };
  std::ranges::for_each(calls_, count);
  std::ranges::for_each(overdue | std::views::filter(of_run), count);
  if (bad + overloads / kOverloadsPerBad < length) {
    return false;
  }
  const auto second_round = [&](const BadCall& call) {
    return of_run(call) && call.started > first_known;
  };
  return std::ranges::count_if(calls_, second_round) +
             std::ranges::count_if(overdue, second_round) >=
         2;
}

size_t BadRun::bad() const {
  return static_cast<size_t>(std::ranges::count(calls_, false, &BadCall::overload));
}

bool r1_fast(const Evidence& fast, double threshold) {
  return fast.calls >= kFastCalls && fast.spread && 2 * fast.bad >= fast.calls &&
         wilson_lower_bound(fast.bad, fast.calls, kTripZ) >= threshold;
}

bool r2_slow(const Evidence& slow, double threshold) {
  return slow.calls >= kSlowCalls && slow.spread &&
         wilson_lower_bound(slow.bad, slow.calls, kTripZ) >= threshold;
}

}  // namespace spillway::resilience
