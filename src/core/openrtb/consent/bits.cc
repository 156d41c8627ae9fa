#include "openrtb/consent/bits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway::openrtb::consent {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr uint8_t kNone = 0xff;  ///< More than any sextet, and the only one with its top bit set.

constexpr auto kSextets = [] {
  std::array<uint8_t, 256> sextets{};
  sextets.fill(kNone);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    sextets[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return sextets;
}();

uint8_t sextet(char c) { return kSextets[static_cast<unsigned char>(c)]; }

}  // namespace

std::optional<Bits> Bits::decode(std::string_view text) {
  constexpr unsigned kTop = 0x80;
  unsigned all = 0;
  for (const char c : text) {
    all |= sextet(c);
  }
  return (all & kTop) == 0 ? std::optional(Bits(text)) : std::nullopt;
}

unsigned Bits::number(size_t at, unsigned width) const {
  const size_t end = at + width;
  const size_t last = (end + 5) / 6;
  uint64_t value = 0;  // Seven sextets at most.
  for (size_t i = at / 6; i < last; ++i) {
    value = value << 6U | (i < text_.size() ? sextet(text_[i]) : 0U);
  }
  value >>= last * 6 - end;
  return static_cast<unsigned>(value & ((uint64_t{1} << width) - 1));
}

}  // namespace spillway::openrtb::consent
