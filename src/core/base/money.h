#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace spillway::base {

/// An ISO 4217 code, upper case. The default is USD, as OpenRTB says for an absent one.
struct Currency {
  std::array<char, 3> code{'U', 'S', 'D'};

  [[nodiscard]] std::string_view view() const { return {code.data(), code.size()}; }

  auto operator<=>(const Currency&) const = default;
};

/// A price per thousand impressions, in millionths of a currency unit. It is not money: what one
/// impression costs is `Cpm` / 1000, and that division happens in the ledger alone.
struct Cpm {
  int64_t micros = 0;

  auto operator<=>(const Cpm&) const = default;
};

}  // namespace spillway::base
