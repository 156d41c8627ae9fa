#pragma once

#include <span>
#include <string_view>

namespace spillway::openrtb {

/// The ISO 4217 codes of currencies in use, sorted: those known_currency() knows.
[[nodiscard]] std::span<const std::string_view> currency_codes();

}  // namespace spillway::openrtb
