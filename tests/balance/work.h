#pragma once

#include <cstdint>

namespace spillway::balance {

/// Some work that no optimizer sees through; its length is proportional to `iterations` and it
/// touches no memory.
[[nodiscard]] inline uint64_t burn(uint64_t iterations) {
  uint64_t x = iterations | 1;
  for (uint64_t i = 0; i < iterations; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

}  // namespace spillway::balance
