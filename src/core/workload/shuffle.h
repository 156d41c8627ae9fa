#pragma once

#include <cstdint>

namespace spillway::workload {

/// A random order of the numbers 0 to size - 1 that is computed, not stored: a Feistel network of
/// four rounds over the next even power of two, walked until it lands inside. Every number comes
/// once; another seed is another order. Any thread; constant memory; about 30 ns a number.
/// Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002, cycle walking.
class Shuffle {
 public:
  /// Requires size > 0.
  Shuffle(uint64_t size, uint64_t seed);

  /// What comes at `place`; wraps around.
  [[nodiscard]] uint64_t at(uint64_t place) const;

 private:
  [[nodiscard]] uint64_t permute(uint64_t value) const;

  uint64_t size_;
  uint64_t seed_;
  unsigned half_bits_;
};

}  // namespace spillway::workload
