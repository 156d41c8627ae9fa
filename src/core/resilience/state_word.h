#pragma once

#include <cmath>
#include <cstdint>

#include "resilience/guard.h"
#include "resilience/proof.h"

namespace spillway::resilience {

/// State, mode, epoch and admitted share of a leaf in 64 bits: what the call path reads.
/// Bits 0-15 share, 16-18 state, 19-21 mode, 32-63 epoch.
class StateWord {
 public:
  StateWord() = default;

  explicit StateWord(uint64_t bits) : bits_(bits) {}

  /// `admit_ratio` in [0, 1]; only ramping uses it.
  StateWord(State state, Mode mode, uint32_t epoch, double admit_ratio)
      : bits_((static_cast<uint64_t>(epoch) << 32) | (static_cast<uint64_t>(mode) << 19) |
              (static_cast<uint64_t>(state) << 16) | share_bits(admit_ratio)) {}

  [[nodiscard]] uint64_t bits() const { return bits_; }

  [[nodiscard]] State state() const { return static_cast<State>((bits_ >> 16) & 7); }

  [[nodiscard]] Mode mode() const { return static_cast<Mode>((bits_ >> 19) & 7); }

  [[nodiscard]] uint32_t epoch() const { return static_cast<uint32_t>(bits_ >> 32); }

  /// Closed and enforcing: nothing to decide.
  [[nodiscard]] bool plain() const { return ((bits_ >> 16) & 0x3f) == 0; }

  /// Open, and nothing lets calls through all the same.
  [[nodiscard]] bool refuses_all() const {
    return state() == State::kOpen && (mode() == Mode::kEnforce || mode() == Mode::kForcedOpen);
  }

  /// Whether the ramp lets a call of this hash pass. Full share passes every hash.
  [[nodiscard]] bool passes(uint64_t hash) const {
    return (hash >> (SPILLWAY_PLANTED(12) ? 49 : 48)) < share() + 1;
  }

  [[nodiscard]] double ratio() const { return static_cast<double>(share() + 1) / 65536.0; }

 private:
  [[nodiscard]] uint64_t share() const { return bits_ & 0xffff; }

  /// One 65 536th is the least a ramp admits.
  static uint64_t share_bits(double ratio) {
    const auto share = static_cast<int64_t>(std::lround(ratio * 65536.0)) - 1;
    return static_cast<uint64_t>(share < 0 ? 0 : share) & 0xffff;
  }

  uint64_t bits_ = 0;
};

static_assert(static_cast<int>(State::kClosed) == 0 && static_cast<int>(Mode::kEnforce) == 0);

}  // namespace spillway::resilience
