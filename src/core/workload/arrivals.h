#pragma once

#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/time.h"

namespace spillway::workload {

/// When requests are due, whatever the server does: an open model.
struct ArrivalSettings {
  enum class Kind : uint8_t { kConstant, kPoisson };
  Kind kind = Kind::kConstant;
  double rate = 100;          ///< Arrivals a second, (0, 1 000 000].
  base::Duration duration{};  ///< Arrivals are due in [start, start + duration).
};

/// The schedule as a stream. Constant arrivals are computed from their number, so that the rate
/// holds over any length. One thread owns it; constant memory.
class Arrivals {
 public:
  Arrivals(const ArrivalSettings& settings, base::Instant start, uint64_t seed);

  /// When the next request is due; nullopt when the schedule is over.
  [[nodiscard]] std::optional<base::Instant> next() const;

  /// Takes it.
  void pop();

  /// Taken so far.
  [[nodiscard]] uint64_t taken() const { return taken_; }

  /// How many a schedule of these settings has (the expectation for Poisson).
  [[nodiscard]] static uint64_t expected(const ArrivalSettings& settings);

 private:
  ArrivalSettings settings_;
  base::Instant start_;
  base::Rng rng_;
  base::Duration offset_{};
  uint64_t taken_ = 0;
};

}  // namespace spillway::workload
