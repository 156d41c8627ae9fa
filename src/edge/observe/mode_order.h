#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "resilience/guard.h"

namespace spillway::observe {

/// What an operator asks of one circuit.
struct ModeOrder {
  resilience::Mode mode = resilience::Mode::kEnforce;
  base::Duration lasting = std::chrono::hours(1);
  std::string why;
};

/// A positive whole number and its unit, "250ms", "30s", "10m", "1h", "7d"; nothing when it is
/// anything else or over 1000 d.
[[nodiscard]] std::optional<base::Duration> parse_duration(std::string_view text);

/// Reads the body of POST /admin/circuits as admin.h describes it, at most 4 KiB of JSON. Strict:
/// an unknown or repeated field is wrong too. Else one sentence that starts with the field's name.
[[nodiscard]] base::Result<ModeOrder, std::string> parse_mode_order(std::string_view body);

}  // namespace spillway::observe
