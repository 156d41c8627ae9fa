#pragma once

#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/time.h"
#include "workload/rate_profile.h"

namespace spillway::workload {

/// When requests are due, whatever the server does: an open model.
struct ArrivalSettings {
  RateProfile profile;
  bool poisson = false;  ///< Exponential gaps around the profile instead of even ones.
};

/// One worker's share of a schedule: arrivals `index`, `index + of`, and so on.
struct ArrivalStripe {
  uint64_t index = 0;
  uint64_t of = 1;
};

/// The schedule as a stream. Arrival n is due when the profile has asked for n (for Poisson: for
/// the sum of n exponential draws), computed from the number, so that the rate holds over any
/// length. The stripes of one seed together are the whole schedule. One thread owns it; constant
/// memory.
///
/// Source: Çinlar, "Introduction to Stochastic Processes", 1975, 4.7: time change of a Poisson
/// process.
class Arrivals {
 public:
  Arrivals(ArrivalSettings settings, base::Instant start, uint64_t seed, ArrivalStripe stripe = {});

  /// When the next request is due; nullopt when the schedule is over.
  [[nodiscard]] std::optional<base::Instant> next() const;

  /// The number of the next request in the whole schedule, from 0.
  [[nodiscard]] uint64_t number() const { return number_; }

  /// Takes it.
  void pop();

  /// Taken so far.
  [[nodiscard]] uint64_t taken() const { return taken_; }

  /// How many a schedule of these settings has (the expectation for Poisson).
  [[nodiscard]] static uint64_t expected(const ArrivalSettings& settings);

 private:
  void step();
  void find_offset();

  ArrivalSettings settings_;
  base::Instant start_;
  base::Rng rng_;
  ArrivalStripe stripe_;
  double count_ = 0;  ///< Where the next arrival lies in the profile's count.
  base::Duration offset_{};
  uint64_t number_ = 0;
  uint64_t taken_ = 0;
  bool over_ = false;
};

}  // namespace spillway::workload
