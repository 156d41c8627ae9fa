#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace spillway::openrtb::consent {

/// The bits of a base64url text without padding, as consent strings are written. Immutable; any
/// thread. Memory: 3/4 of the text.
class Bits {
 public:
  /// nullopt when a character is not of the alphabet. O(text).
  static std::optional<Bits> decode(std::string_view text);

  /// Six a character of the text.
  [[nodiscard]] size_t count() const { return count_; }

  /// `width` (at most 32) bits from `at` on as a number; bits behind the end are zero.
  [[nodiscard]] unsigned number(size_t at, unsigned width) const;

  [[nodiscard]] bool is_set(size_t at) const { return number(at, 1) != 0; }

 private:
  size_t count_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace spillway::openrtb::consent
