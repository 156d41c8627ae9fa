#pragma once

#include <cstdint>
#include <string_view>

namespace spillway::openrtb::consent {

/// What a signal of the United States says about the sale or sharing of the user's data.
enum class OptOut : uint8_t {
  kNo,          ///< Not opted out, or the law does not apply.
  kYes,         ///< Opted out.
  kUnreadable,  ///< There is a signal that no meaning can be read from: to be taken as kYes.
};

/// The U.S. Privacy string (`regs.us_privacy`), "1YNN": version, notice given, opted out of sale,
/// covered transaction; each Y, N or -, in either case. Another length, letter or version is
/// kUnreadable.
/// Source: IAB CCPA Compliance Framework, U.S. Privacy String version 1.
[[nodiscard]] OptOut us_privacy_opt_out(std::string_view text);

}  // namespace spillway::openrtb::consent
