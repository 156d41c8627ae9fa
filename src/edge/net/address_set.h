#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace spillway::net {

/// An IP address; IPv4 as its IPv4-mapped IPv6 form, so that both spellings of one are equal.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// A literal without port or brackets; nothing for any other text.
[[nodiscard]] std::optional<IpAddress> parse_ip(std::string_view text);

/// The address of "address:port" (IPv6 in brackets), without the brackets.
[[nodiscard]] std::string_view address_of(std::string_view peer);

/// A list of networks, such as 10.0.0.0/8 or 2001:db8::/32; a bare address is a network of one.
class AddressSet {
 public:
  /// False, and nothing added, when `network` is none or has bits set behind its prefix.
  bool add(std::string_view network);

  [[nodiscard]] bool contains(const IpAddress& address) const;
  /// False for what is no address.
  [[nodiscard]] bool contains(std::string_view address) const;

  [[nodiscard]] bool empty() const { return networks_.empty(); }

 private:
  struct Network {
    IpAddress base;
    unsigned bits = 0;  ///< Of the mapped form: [0, 128].
  };

  std::vector<Network> networks_;
};

}  // namespace spillway::net
