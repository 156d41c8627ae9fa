#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bidder/model.h"

namespace spillway::bidder {

/// The names of the model's enumerators, as catalogs, configuration and messages spell them:
/// "active", "cpm", "front_loaded", "device_type". Static text.
[[nodiscard]] std::string_view to_string(Status value);
[[nodiscard]] std::string_view to_string(Goal value);
[[nodiscard]] std::string_view to_string(Pacing value);
[[nodiscard]] std::string_view to_string(CapFailure value);
[[nodiscard]] std::string_view to_string(CapScope value);
[[nodiscard]] std::string_view to_string(CapWindow value);
[[nodiscard]] std::string_view to_string(CapKind value);
[[nodiscard]] std::string_view to_string(Media value);
[[nodiscard]] std::string_view to_string(Dimension value);

/// The enumerator of that name; nullopt when there is none. Defined for the nine types above.
template <typename Enum>
[[nodiscard]] std::optional<Enum> parse_name(std::string_view name);

/// All names of an enumeration with a comma and a blank between, for messages.
template <typename Enum>
[[nodiscard]] std::string names_of();

}  // namespace spillway::bidder
