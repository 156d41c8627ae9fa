#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::app {

/// Edits (insert, delete, replace) between two short names.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

/// Most edits between `name` and one that may have been meant.
[[nodiscard]] size_t near_distance(std::string_view name);

/// The known name that was probably meant, empty when none is near.
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       const std::vector<std::string>& known);

}  // namespace spillway::app
