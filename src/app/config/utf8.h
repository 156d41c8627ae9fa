#pragma once

#include <cstddef>
#include <string_view>

namespace spillway::app {

/// Offset of the first byte that is not UTF-8 (overlong forms and surrogates are not), npos when
/// all of it is.
[[nodiscard]] size_t first_invalid_utf8(std::string_view text);

}  // namespace spillway::app
