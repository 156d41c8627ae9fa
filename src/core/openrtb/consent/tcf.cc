#include "openrtb/consent/tcf.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "openrtb/consent/bits.h"

namespace spillway::openrtb::consent {

namespace {

constexpr size_t kVendorsAt = 213;         // First bit of the vendor consents.
constexpr unsigned kRestrictionBits = 20;  // Purpose, kind, number of ranges.

}  // namespace

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
    return at <= bits_.count() ? std::optional(section) : std::nullopt;
  }
  section.entries = bits(at, 12);
  section.at = at += 12;
  for (unsigned i = 0; i < section.entries; ++i) {
    const Range range = read_range(at);
    const bool sound =
        range.first >= 1 && range.first <= range.last && range.last <= section.max_vendor;
    if (at > bits_.count() || !sound) {
      return std::nullopt;
    }
  }
  return at <= bits_.count() ? std::optional(section) : std::nullopt;
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

bool Tcf::restrictions_are_sound(size_t at) const {
  const unsigned restrictions = bits(at, 12);
  at += 12;
  for (unsigned i = 0; i < restrictions && at <= bits_.count(); ++i) {
    const unsigned entries = bits(at + 8, 12);
    at += kRestrictionBits;
    for (unsigned j = 0; j < entries && at <= bits_.count(); ++j) {
      const Range range = read_range(at);
      if (range.first < 1 || range.first > range.last) {
        return false;
      }
    }
  }
  return at <= bits_.count();
}

Tcf::Left Tcf::left_by_publisher(unsigned purpose, unsigned vendor) const {
  constexpr unsigned kRequireConsent = 1;
  constexpr unsigned kRequireInterest = 2;
  Left left;
  size_t at = restrictions_at_ + 12;
  for (unsigned i = bits(restrictions_at_, 12); i > 0; --i) {
    const bool same_purpose = bits(at, 6) == purpose;
    const unsigned kind = bits(at + 6, 2);
    const unsigned entries = bits(at + 8, 12);
    at += kRestrictionBits;
    for (unsigned j = 0; j < entries; ++j) {
      const Range range = read_range(at);
      if (same_purpose && vendor >= range.first && vendor <= range.last) {
        left.consent = left.consent && kind == kRequireConsent;
        left.interest = left.interest && kind == kRequireInterest;
      }
    }
  }
  return left;
}

bool Tcf::has_basis(unsigned purpose, unsigned vendor, bool claims_interest) const {
  const bool interest_allowed = purpose == 2 || (purpose >= 7 && purpose <= 11);
  const Left left = left_by_publisher(purpose, vendor);
  const bool consent = left.consent && purpose_consent(purpose) && vendor_consent(vendor);
  return consent || (claims_interest && interest_allowed && left.interest &&
                     purpose_interest(purpose) && vendor_interest(vendor));
}

std::optional<Tcf> Tcf::decode(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return std::nullopt;
  }
  const std::optional<Bits> bits = Bits::decode(text.substr(0, text.find('.')));
  if (!bits || bits->number(0, 6) != 2) {
    return std::nullopt;
  }
  Tcf tcf(*bits);
  size_t at = kVendorsAt;
  const std::optional<Section> consents = tcf.read_section(at);
  const std::optional<Section> interests = consents ? tcf.read_section(at) : std::nullopt;
  if (!interests || !tcf.restrictions_are_sound(at)) {
    return std::nullopt;
  }
  tcf.consents_ = *consents;
  tcf.interests_ = *interests;
  tcf.restrictions_at_ = at;
  return tcf;
}

}  // namespace spillway::openrtb::consent
