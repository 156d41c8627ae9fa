#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder {

/// The name of one of the model's enumerators, as catalogs, configuration and messages spell it:
/// "active", "cpm", "front_loaded", "device_type". Static text. Defined, as the two below, for
/// Status, Goal, Pacing, CapFailure, CapScope, CapWindow, CapKind, Media and Dimension.
template <typename Enum>
[[nodiscard]] std::string_view name_of(Enum value);

/// The enumerator of that name; nullopt when there is none.
template <typename Enum>
[[nodiscard]] std::optional<Enum> parse_name(std::string_view name);

/// All names of an enumeration with a comma and a blank between, for messages.
template <typename Enum>
[[nodiscard]] std::string names_of();

}  // namespace spillway::bidder
