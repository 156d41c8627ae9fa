#include "openrtb/consent/gpp.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "openrtb/consent/bits.h"
#include "openrtb/consent/us_privacy.h"

namespace spillway::openrtb::consent {

namespace {

/// A Fibonacci-coded number, at least 1; nullopt when it does not end or is beyond every section.
std::optional<unsigned> fibonacci(const Bits& bits, size_t& at) {
  unsigned value = 0;
  unsigned term = 1;
  unsigned next_term = 2;
  for (bool before = false; at < bits.count() && term <= Gpp::kMaxSectionId * 2;) {
    const bool one = bits.is_set(at++);
    if (one && before) {
      return value;
    }
    value += one ? term : 0;
    before = one;
    term = std::exchange(next_term, term + next_term);
  }
  return std::nullopt;
}

/// First bits of the opt-outs of a section's version 1: two bits each, 1 is "opted out".
struct Layout {
  std::array<unsigned, 3> at{};
  unsigned end = 0;  ///< Bits that must be there.
};

constexpr Layout kNational{.at = {18, 20, 22}, .end = 24};      // Sale, sharing, targeting.
constexpr Layout kThreeNotices{.at = {12, 14, 14}, .end = 16};  // Sale; sharing or targeting.
constexpr Layout kFourNotices{.at = {14, 16, 16}, .end = 18};   // The same, one notice more.

std::optional<Layout> layout_of(unsigned id) {
  constexpr unsigned kUsNational = 7;
  constexpr unsigned kUtah = 11;
  constexpr unsigned kIowa = 18;
  constexpr unsigned kMinnesota = 23;
  if (id < kUsNational || id > kMinnesota) {
    return std::nullopt;
  }
  if (id == kUsNational) {
    return kNational;
  }
  return id == kUtah || id == kIowa ? kFourNotices : kThreeNotices;
}

/// Whether a part behind the first is the Global Privacy Control with its bit set.
OptOut gpc_of(std::string_view part) {
  const std::optional<Bits> bits = Bits::decode(part);
  if (!bits || bits->count() < 3) {
    return OptOut::kUnreadable;
  }
  return bits->number(0, 2) == 1 && bits->is_set(2) ? OptOut::kYes : OptOut::kNo;
}

}  // namespace

bool Gpp::add(unsigned first, unsigned last) {
  if (last > kMaxSectionId || count_ + (last - first) >= kMaxSections) {
    return false;
  }
  for (unsigned id = first; id <= last; ++id) {
    list_[count_++].id = id;
  }
  return true;
}

bool Gpp::read_header(std::string_view header) {
  const std::optional<Bits> bits = Bits::decode(header);
  if (!bits || bits->number(0, 6) != 3 || bits->number(6, 6) != 1) {
    return false;
  }
  size_t at = 24;
  for (unsigned left = bits->number(12, 12); left > 0; --left) {
    const bool group = bits->is_set(at++);
    const std::optional<unsigned> offset = fibonacci(*bits, at);
    const std::optional<unsigned> more = group ? fibonacci(*bits, at) : 0;
    if (!offset || !more) {
      return false;
    }
    const unsigned first = (count_ == 0 ? 0 : list_[count_ - 1].id) + *offset;
    if (!add(first, first + *more)) {
      return false;
    }
  }
  return true;
}

std::optional<Gpp> Gpp::decode(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return std::nullopt;
  }
  size_t end = text.find('~');
  std::optional<Gpp> out(std::in_place);
  if (!out->read_header(text.substr(0, end))) {
    return std::nullopt;
  }
  for (Section& section : std::span(out->list_).first(out->count_)) {
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    const size_t begin = end + 1;
    end = text.find('~', begin);
    section.text = text.substr(begin, end - begin);
  }
  return end == std::string_view::npos ? out : std::nullopt;
}

const std::string_view* Gpp::find(unsigned id) const {
  const auto found = std::ranges::find(sections(), id, &Section::id);
  return found == sections().end() ? nullptr : &found->text;
}

OptOut us_section_opt_out(unsigned id, std::string_view text) {
  if (id == kGppUsPrivacy) {
    return us_privacy_opt_out(text);
  }
  const std::optional<Layout> layout = layout_of(id);
  size_t end = text.find('.');
  const std::optional<Bits> bits = Bits::decode(text.substr(0, end));
  if (!layout || !bits || bits->number(0, 6) == 0 || bits->count() < layout->end) {
    return OptOut::kUnreadable;
  }
  // The opt-outs stand before the fields in which the versions so far differ.
  const auto opted_out = [&](unsigned at) { return bits->number(at, 2) == 1; };
  if (std::ranges::any_of(layout->at, opted_out)) {
    return OptOut::kYes;
  }
  while (end != std::string_view::npos) {
    const size_t begin = end + 1;
    end = text.find('.', begin);
    const OptOut gpc = gpc_of(text.substr(begin, end - begin));
    if (gpc != OptOut::kNo) {
      return gpc;
    }
  }
  return OptOut::kNo;
}

}  // namespace spillway::openrtb::consent
