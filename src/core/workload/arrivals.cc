#include "workload/arrivals.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {

namespace {

constexpr double kNanosPerSecond = 1e9;

}  // namespace

Arrivals::Arrivals(const ArrivalSettings& settings, base::Instant start, uint64_t seed)
    : settings_(settings), start_(start), rng_(seed) {
  if (settings_.kind == ArrivalSettings::Kind::kPoisson) {
    pop();
    taken_ = 0;
  }
}

std::optional<base::Instant> Arrivals::next() const {
  if (offset_ >= settings_.duration) {
    return std::nullopt;
  }
  return start_ + offset_;
}

void Arrivals::pop() {
  ++taken_;
  if (settings_.kind == ArrivalSettings::Kind::kConstant) {
    offset_ = base::Duration(
        static_cast<int64_t>(static_cast<double>(taken_) * kNanosPerSecond / settings_.rate));
    return;
  }
  const double gap = -std::log(1.0 - rng_.uniform()) * kNanosPerSecond / settings_.rate;
  offset_ += base::Duration(static_cast<int64_t>(gap));
}

uint64_t Arrivals::expected(const ArrivalSettings& settings) {
  return static_cast<uint64_t>(
      std::ceil(std::chrono::duration<double>(settings.duration).count() * settings.rate - 1e-9));
}

}  // namespace spillway::workload
