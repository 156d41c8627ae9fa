#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway::bidder::caps {

/// A user as caps and segments know him: 128 bits of SHA-256 over where the id comes from and the
/// id, so that ids of any length and content make keys of one length, and nobody can choose his
/// neighbours in a table.
struct UserHash {
  uint64_t high = 0;
  uint64_t low = 0;

  bool operator==(const UserHash&) const = default;

  /// 32 hexadecimal digits.
  [[nodiscard]] std::array<char, 32> text() const;
};

/// None for an empty id: an anonymous user has no counters, and is never "the user whose id is
/// empty". `source` is the id space ("buyeruid", "ifa", an exchange): ids of two spaces never meet.
/// About 300 ns.
[[nodiscard]] std::optional<UserHash> hash_user(std::string_view source, std::string_view id);

/// Reads 32 hexadecimal digits, as notices carry them.
[[nodiscard]] std::optional<UserHash> parse_user(std::string_view text);

}  // namespace spillway::bidder::caps
