#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway::base {

using Digest256 = std::array<uint8_t, 32>;

/// Source: FIPS 180-4.
[[nodiscard]] Digest256 sha256(std::string_view bytes);

/// A key ready to sign: what depends on the key alone is computed once. Immutable, any thread.
/// Source: RFC 2104 over SHA-256.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);

  /// Cost: two blocks of SHA-256 more than the message has (about 250 ns each).
  [[nodiscard]] Digest256 sign(std::string_view message) const;

 private:
  using Words = std::array<uint32_t, 8>;

  Words inner_{};  ///< State after the key's inner pad.
  Words outer_{};
};

/// Whether two texts are the same, in a time that depends on their lengths alone.
[[nodiscard]] bool same_in_constant_time(std::string_view a, std::string_view b);

}  // namespace spillway::base
