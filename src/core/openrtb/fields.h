#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "openrtb/document.h"

namespace spillway::openrtb {

/// A value that has the wrong type or range.
struct Fault {
  NodeId node = kAbsent;
  std::string_view what;
};

/// Floors above this many units of any currency are taken for garbage.
inline constexpr int64_t kFloorSanityUnits = 1'000'000'000;

/// Checks the JSON type, and where the specification bounds it the range, of every member of a
/// bid request that the table of fields knows: the first fault in document order. Members that it
/// does not know, and enum values, are tolerated; null is absent everywhere but in arrays.
/// Source: OpenRTB 2.6 section 3.2 and the places 2.5 had in ext. Cost: one look-up a member.
[[nodiscard]] std::optional<Fault> find_fault(const Document& document);

}  // namespace spillway::openrtb
