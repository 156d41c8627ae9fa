#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "openrtb/consent/us_privacy.h"

namespace spillway::openrtb::consent {

/// Ids of the sections that are read.
inline constexpr unsigned kGppTcfEu = 2;
inline constexpr unsigned kGppUsPrivacy = 6;

/// A Global Privacy Platform string (`regs.gpp`): a header that lists section ids, and one text a
/// section, read where they stand: the text must outlive it. Immutable; any thread. Memory: 1.5
/// KiB, whatever the text.
///
/// Source: IAB Tech Lab Global Privacy Platform, consent string specification 1.0.
class Gpp {
 public:
  static constexpr size_t kMaxTextBytes = 65536;
  static constexpr size_t kMaxSections = 64;
  static constexpr unsigned kMaxSectionId = 4095;

  struct Section {
    unsigned id = 0;
    std::string_view text;
  };

  /// nullopt when the text is too long, has a header that is not one (type 3, version 1, ids rising
  /// and at most kMaxSectionId), or has not one text for each id. O(text).
  static std::optional<Gpp> decode(std::string_view text);

  /// In the order of the string, ids rising.
  [[nodiscard]] std::span<const Section> sections() const { return std::span(list_).first(count_); }

  /// The text of a section; nullptr when the string has none of that id.
  [[nodiscard]] const std::string_view* find(unsigned id) const;

 private:
  [[nodiscard]] bool read_header(std::string_view header);
  [[nodiscard]] bool add(unsigned first, unsigned last);

  std::array<Section, kMaxSections> list_{};
  size_t count_ = 0;
};

/// What a section of the United States says: the U.S. Privacy text (6), or the opt-outs of sale,
/// sharing and targeted advertising and the Global Privacy Control bit in the national section (7)
/// and those of the states 8 to 23. Any of them set is kYes. kUnreadable for every other id (later
/// states have other layouts), and for a text that is not base64url or too short.
/// Source: IAB Tech Lab Global Privacy Platform, sections US-National and US-States.
[[nodiscard]] OptOut us_section_opt_out(unsigned id, std::string_view text);

}  // namespace spillway::openrtb::consent
