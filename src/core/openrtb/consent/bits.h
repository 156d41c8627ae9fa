#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace spillway::openrtb::consent {

/// The bits of a base64url text without padding, as consent strings are written, read where they
/// stand: the text must outlive it. Immutable; any thread. No memory of its own.
class Bits {
 public:
  Bits() = default;

  /// nullopt when a character is not of the alphabet. O(text).
  static std::optional<Bits> decode(std::string_view text);

  /// Six a character of the text.
  [[nodiscard]] size_t count() const { return text_.size() * 6; }

  /// `width` (1 to 32) bits from `at` on as a number; bits behind the end are zero.
  [[nodiscard]] unsigned number(size_t at, unsigned width) const;

  [[nodiscard]] bool is_set(size_t at) const { return number(at, 1) != 0; }

 private:
  explicit Bits(std::string_view text) : text_(text) {}

  std::string_view text_;
};

}  // namespace spillway::openrtb::consent
