#include "workload/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {

namespace {

/// `typical` times `factor`, kept in [0, cap] before the conversion can overflow.
base::Duration scaled(const Latency& latency, double factor) {
  const double nanos = static_cast<double>(latency.typical.count()) * factor;
  const auto cap = static_cast<double>(latency.cap.count());
  return base::Duration(static_cast<int64_t>(std::clamp(nanos, 0.0, cap)));
}

/// Standard normal quantile by bisection of the distribution function: exact to 1e-12, and rarely
/// needed, so that no rational approximation has to be trusted.
double normal_quantile(double ratio) {
  double low = -9;
  double high = 9;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < ratio ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Latency Latency::constant(base::Duration value) {
  return {.kind = Kind::kConstant,
          .typical = value,
          .shape = 1,
          .cap = std::max(value, base::Duration(std::chrono::seconds(10)))};
}

Latency Latency::lognormal(base::Duration median, double sigma) {
  return {.kind = Kind::kLognormal,
          .typical = median,
          .shape = sigma,
          .cap = std::max(median, base::Duration(std::chrono::seconds(10)))};
}

Latency Latency::pareto(base::Duration minimum, double alpha, base::Duration cap) {
  return {.kind = Kind::kPareto, .typical = minimum, .shape = alpha, .cap = cap};
}

base::Duration Latency::sample(base::Rng& rng) const {
  switch (kind) {
    case Kind::kConstant:
      return std::min(typical, cap);
    case Kind::kLognormal:
      return scaled(*this, std::exp(shape * rng.normal()));
    case Kind::kPareto:
      return scaled(*this, std::pow(1.0 - rng.uniform(), -1.0 / shape));
  }
  return typical;
}

base::Duration Latency::quantile(double ratio) const {
  switch (kind) {
    case Kind::kConstant:
      return std::min(typical, cap);
    case Kind::kLognormal:
      return scaled(*this, std::exp(shape * normal_quantile(ratio)));
    case Kind::kPareto:
      return scaled(*this, std::pow(1.0 - ratio, -1.0 / shape));
  }
  return typical;
}

std::string_view to_string(Latency::Kind kind) {
  switch (kind) {
    case Latency::Kind::kConstant:
      return "constant";
    case Latency::Kind::kLognormal:
      return "lognormal";
    case Latency::Kind::kPareto:
      return "pareto";
  }
  return "";
}

std::vector<Problem> validate(const Latency& latency) {
  std::vector<Problem> problems;
  const bool constant = latency.kind == Latency::Kind::kConstant;
  if (latency.typical < base::Duration::zero() || latency.typical > std::chrono::seconds(60) ||
      (!constant && latency.typical == base::Duration::zero())) {
    problems.push_back(
        {.key = "", .what = constant ? "must be from 0 to 60s" : "must be over 0 and up to 60s"});
  }
  if (!constant && !(latency.shape > 0 && latency.shape <= 10)) {
    problems.push_back({.key = latency.kind == Latency::Kind::kPareto ? "alpha" : "sigma",
                        .what = "must be over 0 and up to 10"});
  }
  if (latency.cap < latency.typical || latency.cap > std::chrono::minutes(10)) {
    problems.push_back(
        {.key = "cap", .what = "must be at least the typical latency and up to 10m"});
  }
  return problems;
}

}  // namespace spillway::workload
