#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::openrtb {

/// Appends the text of a JSON string, given its raw bytes between the quotes: escapes decoded.
/// `raw` must have passed a walk.
void append_unescaped(std::string& out, std::string_view raw);

/// First byte at or after `at` that is a quote, a backslash or a control character; some address
/// at or past `end` when there is none. Reads up to 7 bytes past `end`.
[[nodiscard]] const char* find_special(const char* at, const char* end);

/// Behind the escape that starts at `at` (a backslash); nullptr when it is none, or a surrogate
/// without its other half. Reads up to 12 bytes past `at`.
[[nodiscard]] const char* skip_escape(const char* at);

/// Behind the JSON number that starts at `at`; nullptr when there is none. Stops at `end`.
[[nodiscard]] const char* skip_number(const char* at, const char* end);

/// The value of a JSON number when it is whole and fits, however it is spelt.
[[nodiscard]] std::optional<int64_t> whole_number(std::string_view number);

}  // namespace spillway::openrtb
