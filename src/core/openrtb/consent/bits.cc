#include "openrtb/consent/bits.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace spillway::openrtb::consent {

namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  return c == '-' ? 62 : c == '_' ? 63 : -1;
}

}  // namespace

std::optional<Bits> Bits::decode(std::string_view text) {
  std::optional<Bits> out(std::in_place);
  out->count_ = text.size() * 6;
  out->bytes_.reserve(text.size() * 3 / 4 + 1);
  unsigned held = 0;
  unsigned held_bits = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) {
      return std::nullopt;
    }
    held = (held << 6U) | static_cast<unsigned>(value);
    held_bits += 6;
    if (held_bits >= 8) {
      held_bits -= 8;
      out->bytes_.push_back(static_cast<uint8_t>((held >> held_bits) & 0xFFU));
      held &= (1U << held_bits) - 1;
    }
  }
  if (held_bits > 0) {  // Encoders pad to sextets only: the last bits may carry content.
    out->bytes_.push_back(static_cast<uint8_t>((held << (8 - held_bits)) & 0xFFU));
  }
  return out;
}

unsigned Bits::number(size_t at, unsigned width) const {
  unsigned value = 0;
  for (size_t bit = at; bit < at + width; ++bit) {
    const unsigned one = bit < count() ? (bytes_[bit / 8] >> (7 - bit % 8)) & 1U : 0U;
    value = (value << 1U) | one;
  }
  return value;
}

}  // namespace spillway::openrtb::consent
