#include "net/address_set.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <sys/socket.h>

namespace spillway::net {
namespace {

constexpr unsigned kMappedBits = 96;

/// Whether the first `bits` of both are the same.
bool same_prefix(const IpAddress& a, const IpAddress& b, unsigned bits) {
  const size_t whole = bits / 8;
  if (std::memcmp(a.bytes.data(), b.bytes.data(), whole) != 0) {
    return false;
  }
  const unsigned rest = bits % 8;
  return rest == 0 || (a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest) == 0;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string literal(text.substr(0, INET6_ADDRSTRLEN));
  IpAddress address;
  if (::inet_pton(AF_INET6, literal.c_str(), address.bytes.data()) == 1) {
    return address;
  }
  address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (::inet_pton(AF_INET, literal.c_str(), address.bytes.data() + 12) == 1) {
    return address;
  }
  return std::nullopt;
}

std::string_view address_of(std::string_view peer) {
  std::string_view address = peer.substr(0, peer.rfind(':'));
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  return address;
}

bool AddressSet::add(std::string_view network) {
  const size_t slash = network.find('/');
  const auto base = parse_ip(network.substr(0, slash));
  if (!base) {
    return false;
  }
  const bool v4 = !network.substr(0, slash).contains(':');
  unsigned bits = v4 ? 32 : 128;
  if (slash != std::string_view::npos) {
    const std::string_view text = network.substr(slash + 1);
    unsigned given = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), given);
    if (text.empty() || error != std::errc() || rest != text.data() + text.size() || given > bits) {
      return false;
    }
    bits = given;
  }
  bits += v4 ? kMappedBits : 0;
  for (unsigned bit = bits; bit < 128; ++bit) {
    if ((base->bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) {
      return false;
    }
  }
  networks_.push_back({.base = *base, .bits = bits});
  return true;
}

bool AddressSet::contains(const IpAddress& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    return same_prefix(network.base, address, network.bits);
  });
}

bool AddressSet::contains(std::string_view address) const {
  const auto parsed = parse_ip(address);
  return parsed && contains(*parsed);
}

}  // namespace spillway::net
