#include "workload/arrivals.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {

namespace {

/// Of an arrival: what rounding may take from a count before it is one arrival less.
constexpr double kRounding = 1e-9;

}  // namespace

Arrivals::Arrivals(ArrivalSettings settings, base::Instant start, uint64_t seed,
                   ArrivalStripe stripe)
    : settings_(std::move(settings)), start_(start), rng_(seed), stripe_(stripe) {
  if (settings_.poisson) {
    count_ = -std::log(1.0 - rng_.uniform());
  }
  for (uint64_t i = 0; i < stripe_.index; ++i) {
    step();
  }
  find_offset();
}

std::optional<base::Instant> Arrivals::next() const {
  return over_ ? std::nullopt : std::optional(start_ + offset_);
}

/// To the next arrival of the whole schedule.
void Arrivals::step() {
  ++number_;
  count_ =
      settings_.poisson ? count_ - std::log(1.0 - rng_.uniform()) : static_cast<double>(number_);
}

void Arrivals::find_offset() {
  const double whole = settings_.profile.expected();
  over_ = count_ >= whole * (1 - kRounding) - kRounding;
  if (!over_) {
    offset_ = settings_.profile.when(count_);
  }
}

void Arrivals::pop() {
  ++taken_;
  for (uint64_t i = 0; i < stripe_.of; ++i) {
    step();
  }
  find_offset();
}

uint64_t Arrivals::expected(const ArrivalSettings& settings) {
  return static_cast<uint64_t>(std::ceil(settings.profile.expected() * (1 - kRounding)));
}

}  // namespace spillway::workload
