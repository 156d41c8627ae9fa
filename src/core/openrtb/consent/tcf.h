#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "openrtb/consent/bits.h"

namespace spillway::openrtb::consent {

/// The core segment of a TCF v2 consent string (`user.consent`): who may do what with the user's
/// data. Read where it stands: the text must outlive it. Immutable; any thread. A value of a few
/// words.
///
/// Source: IAB Europe Transparency and Consent Framework, consent string v2, core string.
class Tcf {
 public:
  /// Longer texts are refused unread: every vendor twice as a bit field is about 22 KB.
  static constexpr size_t kMaxTextBytes = 65536;

  /// Nobody may do anything.
  Tcf() = default;

  /// Reads up to the first dot; later segments never widen a basis. nullopt when the text is too
  /// long, not base64url, not version 2, ends early, or holds a range that is empty, reversed or
  /// beyond the section's largest vendor: no basis can be read from it. O(text).
  static std::optional<Tcf> decode(std::string_view text);

  [[nodiscard]] unsigned version() const { return bits(0, 6); }

  [[nodiscard]] unsigned cmp_id() const { return bits(78, 12); }

  [[nodiscard]] unsigned vendor_list_version() const { return bits(120, 12); }

  [[nodiscard]] unsigned policy_version() const { return bits(132, 6); }

  /// Consent to a purpose, 1..24; false outside.
  [[nodiscard]] bool purpose_consent(unsigned purpose) const { return flag(152, purpose); }

  /// Transparency for legitimate interest in a purpose, 1..24; false outside.
  [[nodiscard]] bool purpose_interest(unsigned purpose) const { return flag(176, purpose); }

  /// Consent to a vendor of the global vendor list; false for 0 and unlisted. O(ranges).
  [[nodiscard]] bool vendor_consent(unsigned vendor) const { return contains(consents_, vendor); }

  /// Legitimate interest of a vendor not objected to; false for 0 and unlisted. O(ranges).
  [[nodiscard]] bool vendor_interest(unsigned vendor) const { return contains(interests_, vendor); }

  /// Whether a vendor may process data for a purpose: by consent to both, or, when the vendor
  /// `claims_interest` in the global vendor list and the purpose allows it (2 and 7 to 11), by
  /// legitimate interest not objected to. What the publisher restricts is taken off; a restriction
  /// of an undefined kind forbids. O(ranges).
  [[nodiscard]] bool has_basis(unsigned purpose, unsigned vendor, bool claims_interest) const;

 private:
  /// A set of vendors where the string keeps it: `at` is the first bit after the encoding flag
  /// (bit field) or after the number of entries (ranges).
  struct Section {
    size_t at = 0;
    unsigned max_vendor = 0;
    unsigned entries = 0;
    bool ranges = false;
  };

  struct Range {
    unsigned first = 0;
    unsigned last = 0;
  };

  /// What the publisher leaves of a vendor's bases for a purpose.
  struct Left {
    bool consent = true;
    bool interest = true;
  };

  explicit Tcf(Bits text) : bits_(text) {}

  std::optional<Section> read_section(size_t& at) const;
  [[nodiscard]] bool restrictions_are_sound(size_t at) const;
  [[nodiscard]] Left left_by_publisher(unsigned purpose, unsigned vendor) const;
  [[nodiscard]] Range read_range(size_t& at) const;
  [[nodiscard]] bool contains(const Section& section, unsigned vendor) const;

  [[nodiscard]] unsigned bits(size_t at, unsigned width) const { return bits_.number(at, width); }

  [[nodiscard]] bool flag(size_t base, unsigned purpose) const {
    return purpose >= 1 && purpose <= 24 && bits(base + purpose - 1, 1) != 0;
  }

  Bits bits_;
  Section consents_;
  Section interests_;
  size_t restrictions_at_ = 0;
};

}  // namespace spillway::openrtb::consent
