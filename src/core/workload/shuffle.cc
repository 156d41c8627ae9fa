#include "workload/shuffle.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "base/hash.h"

namespace spillway::workload {

Shuffle::Shuffle(uint64_t size, uint64_t seed)
    : size_(size),
      seed_(seed),
      half_bits_(std::max(1U, (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2)) {
  SPILLWAY_ASSERT(size > 0);
}

uint64_t Shuffle::permute(uint64_t value) const {
  constexpr uint64_t kRounds = 4;
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t mixed = base::combine64(seed_ + round, right) & mask;
    const uint64_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

uint64_t Shuffle::at(uint64_t place) const {
  uint64_t value = place % size_;
  do {
    value = permute(value);
  } while (value >= size_);
  return value;
}

}  // namespace spillway::workload
