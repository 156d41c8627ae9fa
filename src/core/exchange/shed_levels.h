#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "resilience/shedder.h"

namespace spillway::exchange {

/// What was decided of a request before it was known whose it is: for each class of account whether
/// to serve (0), to answer after the walk (1) or at once (2). An input of the auction: one byte in
/// its record.
class ShedLevels {
 public:
  constexpr ShedLevels() = default;

  /// From byte(); bits that mean no level are taken for 2.
  static constexpr ShedLevels of_byte(uint8_t byte) {
    ShedLevels levels;
    levels.bits_ = byte;
    return levels;
  }

  static constexpr ShedLevels all(uint8_t level) {
    ShedLevels levels;
    for (size_t i = 0; i < resilience::kCriticalities; ++i) {
      levels.set(static_cast<resilience::Criticality>(i), level);
    }
    return levels;
  }

  constexpr void set(resilience::Criticality of, uint8_t level) {
    const auto shift = 2 * static_cast<unsigned>(of);
    bits_ = static_cast<uint8_t>((bits_ & ~(3U << shift)) | (unsigned{level} << shift));
  }

  [[nodiscard]] constexpr uint8_t level(resilience::Criticality of) const {
    return static_cast<uint8_t>(std::min(2U, (bits_ >> (2 * static_cast<unsigned>(of))) & 3U));
  }

  /// The level that every class has at least.
  [[nodiscard]] constexpr uint8_t least() const {
    uint8_t least = 2;
    for (size_t i = 0; i < resilience::kCriticalities; ++i) {
      least = std::min(least, level(static_cast<resilience::Criticality>(i)));
    }
    return least;
  }

  [[nodiscard]] constexpr uint8_t byte() const { return bits_; }

  bool operator==(const ShedLevels&) const = default;

 private:
  uint8_t bits_ = 0;
};

}  // namespace spillway::exchange
