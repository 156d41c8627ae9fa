#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __BMI2__
#include <immintrin.h>
#endif

namespace spillway::resilience {

/// A weight of 1: weights are numbers of 1/65 536, in (0, kFullWeight].
inline constexpr uint32_t kFullWeight = 1U << 16;

/// Position of the n-th set bit of `mask`, n from 0. Requires n < popcount(mask).
[[nodiscard]] inline size_t nth_bit(uint64_t mask, unsigned n) {
#ifdef __BMI2__
  return static_cast<size_t>(std::countr_zero(_pdep_u64(uint64_t{1} << n, mask)));
#else
  for (; n > 0; --n) {
    mask &= mask - 1;
  }
  return static_cast<size_t>(std::countr_zero(mask));
#endif
}

/// Two different members of a set, or twice the only one.
struct Pair {
  size_t first = 0;
  size_t second = 0;
};

/// Requires a set that is not empty. Uses the low 32 bits of `random`.
[[nodiscard]] inline Pair draw_pair(uint64_t mask, uint64_t random) {
  const auto members = static_cast<unsigned>(std::popcount(mask));
  const auto first = static_cast<unsigned>(((random & 0xffff) * members) >> 16);
  if (members == 1) {
    return {.first = nth_bit(mask, 0), .second = nth_bit(mask, 0)};
  }
  const auto step = static_cast<unsigned>((((random >> 16) & 0xffff) * (members - 1)) >> 16);
  const unsigned second = first + 1 + step;
  return {.first = nth_bit(mask, first),
          .second = nth_bit(mask, second < members ? second : second - members)};
}

/// What a pick sees of a host.
struct Load {
  uint64_t in_flight = 0;
  uint32_t weight = kFullWeight;
};

/// Whether the second of two is the better: each stays in the choice with the probability of its
/// weight, then fewer in flight for its weight wins. So a host of weight w in a set of n gets at
/// most 2 w / n of the calls however idle it is: a host that returns is not drowned. Uses the high
/// 32 bits of `random`.
[[nodiscard]] constexpr bool second_is_better(Load first, Load second, uint64_t random) {
  const bool keep_first = ((random >> 32) & 0xffff) < first.weight;
  const bool keep_second = (random >> 48) < second.weight;
  const bool idler = second.in_flight * first.weight < first.in_flight * second.weight;
  // Without branches: a random one is mispredicted half of the time.
  return static_cast<bool>((static_cast<int>(keep_first == keep_second) & static_cast<int>(idler)) |
                           (static_cast<int>(keep_second) & static_cast<int>(!keep_first)));
}

}  // namespace spillway::resilience
