#include "resilience/ramp.h"

#include <cstdint>

#include "base/time.h"
#include "resilience/trip.h"
#include "resilience/wilson.h"
#include "resilience/window.h"

namespace spillway::resilience {

namespace {

constexpr uint64_t kReopenCalls = 10;
constexpr double kHoldZ = 1.5;

}  // namespace

void Ramp::start(base::Instant now) {
  *this = Ramp{};
  step_start_ = now;
}

Ramp::Says Ramp::advance(base::Instant now, base::Duration ramp, const Tally& settled, double usual,
                         double threshold) {
  tally_.add(settled);
  const Evidence step = evidence_of(tally_);
  if (step.calls >= kReopenCalls && step.spread &&
      wilson_lower_bound(step.bad, step.calls, kTripZ) >= threshold) {
    return Says::kReopen;
  }
  if (now - step_start_ < ramp / static_cast<int64_t>(kSteps.size())) {
    return Says::kGoOn;
  }
  const double bad = wilson_lower_bound(step.bad, step.calls, kHoldZ);
  if (bad <= (usual + threshold) / 2) {
    if (step_ + 1 == kSteps.size()) {
      return Says::kClose;
    }
    ++step_;
    held_ = false;
  } else if (held_) {
    step_ -= step_ > 0 ? 1 : 0;
    held_ = false;
  } else {
    held_ = true;
  }
  step_start_ = now;
  tally_ = Tally{};
  return Says::kGoOn;
}

}  // namespace spillway::resilience
