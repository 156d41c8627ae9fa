#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spillway::net {

/// What the beginning of a connection says about its caller.
/// Source: The PROXY protocol, versions 1 and 2, sections 2.1 and 2.2.
struct ProxyHeader {
  enum class State : uint8_t { kMore, kWhole, kBad };
  State state = State::kMore;
  size_t size = 0;     ///< With kWhole: bytes of the header; what follows is the connection's own.
  std::string source;  ///< "address:port", IPv6 in brackets. Empty: LOCAL, UNKNOWN or no IP; the
                       ///< socket's own peer is the caller then.
};

/// Longest header read: the fixed part and 2 KiB of addresses and extensions.
inline constexpr size_t kProxyHeaderMax = 16 + 2048;

/// Reads a header from the first bytes of a connection. Pure; never looks past `bytes`.
[[nodiscard]] ProxyHeader parse_proxy_header(std::string_view bytes);

}  // namespace spillway::net
