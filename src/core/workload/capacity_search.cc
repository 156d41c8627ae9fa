#include "workload/capacity_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace spillway::workload {

namespace {

constexpr double kRateMin = 1;

}  // namespace

CapacitySearch::CapacitySearch(const CapacitySettings& settings)
    : settings_(settings), rate_(std::min(settings.first_rate, settings.rate_max)) {}

std::optional<CapacitySearch::Trial> CapacitySearch::next() const {
  if (stage_ == Stage::kOver || trials_ >= kTrialsMax) {
    return std::nullopt;
  }
  const bool counts = stage_ == Stage::kHolding;
  return Trial{
      .rate = rate_, .duration = counts ? settings_.hold : settings_.probe, .counts = counts};
}

void CapacitySearch::on_result(bool held) {
  ++trials_;
  switch (stage_) {
    case Stage::kBracketing:
    case Stage::kBisecting:
      bracket(held);
      break;
    case Stage::kHolding:
      if (held) {
        capacity_ = rate_;
        stage_ = Stage::kOver;
      } else {
        rate_ *= 1 - settings_.precision;
        stage_ = rate_ < kRateMin ? Stage::kOver : Stage::kHolding;
      }
      break;
    case Stage::kOver:
      break;
  }
}

void CapacitySearch::bracket(bool held) {
  if (held) {
    held_ = rate_;
  } else {
    not_held_ = rate_;
  }
  if (held_ > 0 && not_held_ > 0) {
    stage_ = Stage::kBisecting;
    narrow();
  } else if (held) {
    stage_ = rate_ >= settings_.rate_max ? Stage::kHolding : Stage::kBracketing;
    rate_ = std::min(rate_ * 2, settings_.rate_max);
  } else {
    rate_ /= 2;
    stage_ = rate_ < kRateMin ? Stage::kOver : Stage::kBracketing;
  }
}

/// The geometric middle, until the bracket is narrow; then the long trial at its lower end.
void CapacitySearch::narrow() {
  if (not_held_ / held_ <= 1 + settings_.precision) {
    stage_ = Stage::kHolding;
    rate_ = held_;
  } else {
    rate_ = std::sqrt(held_ * not_held_);
  }
}

}  // namespace spillway::workload
