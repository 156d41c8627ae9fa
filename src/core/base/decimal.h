#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spillway::base {

/// What happens to digits beyond the sixth decimal. Prices offered go down and floors go up, so
/// that rounding alone never lets a bid pass a floor it is below.
enum class Rounding : uint8_t { kDown, kUp };

enum class DecimalErrc : uint8_t { kNotANumber, kOutOfRange };

/// The number written in `text` (JSON number grammar: digits, fraction, exponent) times 10^6.
/// Exact integer arithmetic on the digits; time linear in the text, whatever the exponent says.
/// Errors: kNotANumber; kOutOfRange when the result does not fit 63 bits.
[[nodiscard]] Result<int64_t, DecimalErrc> parse_micros(std::string_view text, Rounding rounding);

/// Writes `micros` / 10^6 as a plain decimal: no exponent, no trailing zeros ("1.25", "0", "-3.5").
void append_micros(std::string& out, int64_t micros);

}  // namespace spillway::base
