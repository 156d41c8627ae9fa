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

  /// Byte by byte: of arrays the compiler would make a call, and every price is asked for its own.
  constexpr bool operator==(const Currency& other) const {
    return code[0] == other.code[0] && code[1] == other.code[1] && code[2] == other.code[2];
  }
};

/// A price per thousand impressions, in millionths of a currency unit. It is not money: what one
/// impression costs is `Cpm` / 1000, and cost_of() is where that division happens.
struct Cpm {
  int64_t micros = 0;

  auto operator<=>(const Cpm&) const = default;
};

/// Money, in billionths of a currency unit that its owner knows; up to 9.2 billion units.
struct Money {
  int64_t nanos = 0;

  auto operator<=>(const Money&) const = default;
};

/// What one impression at `price` costs: exactly, because a millionth of a thousandth is a
/// billionth.
[[nodiscard]] constexpr Money cost_of(Cpm price) { return {price.micros}; }

/// An amount in millionths; the largest there is when that does not fit.
[[nodiscard]] constexpr Money money_of_micros(int64_t micros) {
  int64_t nanos = 0;
  if (__builtin_mul_overflow(micros, int64_t{1000}, &nanos)) {
    return {micros < 0 ? INT64_MIN : INT64_MAX};
  }
  return {nanos};
}

}  // namespace spillway::base
