#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"

namespace spillway::app {

/// "150ms", "1.5s", "2m", "1h", "250us", "10ns": the unit must be there, the value not negative and
/// a whole number of nanoseconds at most 10^6 h. Nothing for any other text.
[[nodiscard]] std::optional<base::Duration> parse_duration(std::string_view text);

/// The shortest text that parse_duration reads back: "1500ms", "2m", "never" for Duration::max().
[[nodiscard]] std::string duration_text(base::Duration duration);

/// "512B", "256KiB", "1MiB", "2GiB"; whole numbers only.
[[nodiscard]] std::optional<uint64_t> parse_bytes(std::string_view text);
[[nodiscard]] std::string bytes_text(uint64_t bytes);

/// A decimal not below zero, rounded down to whole micros.
[[nodiscard]] std::optional<base::Cpm> parse_cpm(std::string_view text);

}  // namespace spillway::app
