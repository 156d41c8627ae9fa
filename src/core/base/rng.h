#pragma once

#include <cstdint>

namespace spillway::base {

/// A small, fast, reproducible random number generator (xoshiro256++), always passed in by
/// reference: the same seed gives the same decisions in production, simulator and replay.
///
/// One thread owns it. 32 bytes. Source: Blackman and Vigna, "Scrambled Linear Pseudorandom Number
/// Generators", 2021.
class Rng {
 public:
  explicit Rng(uint64_t seed);

  /// Uniform over all 64-bit values.
  uint64_t next();

  /// Uniform in [0, bound). Requires bound > 0.
  uint64_t below(uint64_t bound);

  /// Uniform in [0, 1).
  double uniform();

  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Standard normal deviate.
  double normal();

 private:
  uint64_t state_[4];
};

}  // namespace spillway::base
