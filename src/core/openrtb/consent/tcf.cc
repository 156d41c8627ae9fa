#include "openrtb/consent/tcf.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace spillway::openrtb::consent {

namespace {

constexpr size_t kVendorsAt = 213;  // First bit of the vendor consents.

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

bool Tcf::unpack(std::string_view text) {
  bytes_.reserve(text.size() * 3 / 4 + 1);
  unsigned held = 0;
  unsigned held_bits = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) {
      return false;
    }
    held = (held << 6U) | static_cast<unsigned>(value);
    held_bits += 6;
    if (held_bits >= 8) {
      held_bits -= 8;
      bytes_.push_back(static_cast<uint8_t>((held >> held_bits) & 0xFFU));
      held &= (1U << held_bits) - 1;
    }
  }
  if (held_bits > 0) {  // Encoders pad to sextets only: the last bits may carry content.
    bytes_.push_back(static_cast<uint8_t>((held << (8 - held_bits)) & 0xFFU));
  }
  return true;
}

unsigned Tcf::bits(size_t at, unsigned count) const {
  unsigned value = 0;
  for (size_t bit = at; bit < at + count; ++bit) {
    const unsigned one = bit < bit_count() ? (bytes_[bit / 8] >> (7 - bit % 8)) & 1U : 0U;
    value = (value << 1U) | one;
  }
  return value;
}

Tcf::Range Tcf::read_range(size_t& at) const {
  const bool pair = bits(at, 1) != 0;
  Range range{.first = bits(at + 1, 16), .last = 0};
  range.last = pair ? bits(at + 17, 16) : range.first;
  at += pair ? 33 : 17;
  return range;
}

std::optional<Tcf::Section> Tcf::read_section(size_t& at) const {
  Section section{.at = at + 17, .max_vendor = bits(at, 16), .ranges = bits(at + 16, 1) != 0};
  at = section.at;
  if (!section.ranges) {
    at += section.max_vendor;
    return at <= bit_count() ? std::optional(section) : std::nullopt;
  }
  section.entries = bits(at, 12);
  section.at = at += 12;
  for (unsigned i = 0; i < section.entries; ++i) {
    const Range range = read_range(at);
    const bool sound =
        range.first >= 1 && range.first <= range.last && range.last <= section.max_vendor;
    if (at > bit_count() || !sound) {
      return std::nullopt;
    }
  }
  return at <= bit_count() ? std::optional(section) : std::nullopt;
}

bool Tcf::contains(const Section& section, unsigned vendor) const {
  if (vendor == 0 || vendor > section.max_vendor) {
    return false;
  }
  if (!section.ranges) {
    return bits(section.at + vendor - 1, 1) != 0;
  }
  size_t at = section.at;
  for (unsigned i = 0; i < section.entries; ++i) {
    const Range range = read_range(at);
    if (vendor >= range.first && vendor <= range.last) {
      return true;
    }
  }
  return false;
}

std::optional<Tcf> Tcf::decode(std::string_view text) {
  text = text.substr(0, text.find('.'));
  Tcf tcf;
  if (text.size() > kMaxTextBytes || !tcf.unpack(text) || tcf.version() != 2) {
    return std::nullopt;
  }
  size_t at = kVendorsAt;
  const std::optional<Section> consents = tcf.read_section(at);
  const std::optional<Section> interests = consents ? tcf.read_section(at) : std::nullopt;
  if (!interests) {
    return std::nullopt;
  }
  tcf.consents_ = *consents;
  tcf.interests_ = *interests;
  return std::optional<Tcf>(std::move(tcf));
}

}  // namespace spillway::openrtb::consent
