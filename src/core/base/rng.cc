#include "base/rng.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/assert.h"
#include "base/hash.h"

namespace spillway::base {

Rng::Rng(uint64_t seed) : state_{} {
  for (auto& word : state_) {
    seed += 0x9e3779b97f4a7c15ULL;
    word = mix64(seed);
  }
}

uint64_t Rng::next() {
  const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t bound) {
  SPILLWAY_ASSERT(bound > 0);
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace spillway::base
