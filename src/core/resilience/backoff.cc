#include "resilience/backoff.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::resilience {

namespace {

constexpr base::Duration kHealthyPerLevel = std::chrono::seconds(60);

}  // namespace

void Backoff::healthy(base::Duration spent) {
  healthy_for_ += spent;
  while (level_ > 0 && healthy_for_ >= kHealthyPerLevel) {
    healthy_for_ -= kHealthyPerLevel;
    --level_;
  }
  healthy_for_ = level_ == 0 ? base::Duration{} : healthy_for_;
}

base::Duration Backoff::draw(base::Duration min, base::Duration max, base::Rng& rng) const {
  return spread(std::min(min * (int64_t{1} << level_), max), rng);
}

base::Duration Backoff::spread(base::Duration wait, base::Rng& rng) {
  const double factor = rng.uniform(0.8, 1.2);
  return base::Duration(static_cast<int64_t>(static_cast<double>(wait.count()) * factor));
}

}  // namespace spillway::resilience
