#include "resilience/refusal_brake.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "resilience/checker.h"
#include "resilience/problem.h"

namespace spillway::resilience {
namespace {

constexpr double kSlower = 0.5;
constexpr double kFaster = 1.25;

}  // namespace

std::vector<Problem> validate(const BrakeSettings& settings) {
  Checker check;
  check.within("share_max", settings.share_max, 0.01, 1.0);
  check.within("reading_min", settings.reading_min, 0.01, 1.0);
  return check.take();
}

void RefusalBrake::on_period(base::Duration length, base::Duration refusing) {
  if (length <= base::Duration::zero()) {
    return;
  }
  const double share = static_cast<double>(std::max(refusing, base::Duration::zero()).count()) /
                       static_cast<double>(length.count());
  const double scale =
      share * kFaster <= settings_.share_max ? kFaster : settings_.share_max / share;
  reading_ = std::clamp(reading_ * std::clamp(scale, kSlower, kFaster), settings_.reading_min, 1.0);
  at_rest_ = reading_ == 1 && refusing <= base::Duration::zero();
}

base::Duration RefusalBrake::pause_of(base::Duration length) const {
  return base::Duration(static_cast<int64_t>(static_cast<double>(length.count()) * (1 - reading_)));
}

}  // namespace spillway::resilience
