#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "bidder/facts.h"

namespace spillway::bidder {

/// A size in the spelling of the size dimension ("300x250"), without an allocation; "" for one that
/// has no width or no height.
class SizeText {
 public:
  /// The view lives until the next call.
  std::string_view of(const PixelSize& size) {
    if (size.w <= 0 || size.h <= 0) {
      return {};
    }
    constexpr size_t kDigits = 10;
    char* at = std::to_chars(text_.data(), text_.data() + kDigits, size.w).ptr;
    *at++ = 'x';
    at = std::to_chars(at, at + kDigits, size.h).ptr;
    return {text_.data(), at};
  }

 private:
  std::array<char, 24> text_{};  // Two numbers of 32 bits.
};

}  // namespace spillway::bidder
