#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/sha256_block.h"

namespace spillway::base {

using Digest256 = std::array<uint8_t, 32>;

/// Source: FIPS 180-4.
[[nodiscard]] Digest256 sha256(std::string_view bytes);

/// A key ready to sign: what depends on the key alone is computed once. Immutable, any thread.
/// Source: RFC 2104 over SHA-256.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);

  /// Cost: two blocks of SHA-256 more than the message has (about 250 ns each, a sixth where the
  /// processor has instructions for it; base_bench).
  [[nodiscard]] Digest256 sign(std::string_view message) const;

 private:
  Sha256State inner_{};  ///< After the key's inner pad.
  Sha256State outer_{};
};

/// Whether two texts are the same, in a time that depends on their lengths alone.
[[nodiscard]] bool same_in_constant_time(std::string_view a, std::string_view b);

}  // namespace spillway::base
