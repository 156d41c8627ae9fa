#include "capacity/weight.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace spillway::capacity {

double approach(double from, double target, double step) {
  const double factor = std::exp(step);
  return std::clamp(target, from / factor, from * factor);
}

double anchored_mean(double mean, double top, double mean_capacity, double max_capacity) {
  return max_capacity > 0 ? std::min(mean, top * mean_capacity / max_capacity) : mean;
}

uint32_t SentWeight::tick(double weight) {
  const double real =
      weight >= kLeastWeight ? std::min(weight, kMostWeight) : kLeastWeight;  // NaN too.
  const double sent = std::clamp(std::round(real + owed_), kLeastWeight, kMostWeight);
  owed_ += real - sent;
  current_ = static_cast<uint32_t>(sent);
  return current_;
}

}  // namespace spillway::capacity
