#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace spillway::net {

/// Bytes that may be read (not used) behind any body `net` hands out, so that SIMD readers need no
/// copy. At least simdjson's padding.
inline constexpr size_t kBodyPadding = 64;

/// Whether two header names or tokens are the same: compared without case, ASCII only.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b);

struct Header {
  std::string_view name;
  std::string_view value;
};

/// One whole request as read. Every view lives until the Reply is sent or destroyed.
struct Request {
  std::string_view method;
  std::string_view target;          ///< As sent: path and query.
  std::span<const Header> headers;  ///< In order, at most `header_count`.
  std::string_view body;            ///< kBodyPadding readable bytes follow.
  std::string_view peer;            ///< "address:port" of the caller, by a trusted PROXY header if
                                    ///< the listener takes them.
  /// Who asks: the peer's address without port or brackets or, when the peer is a trusted forwarder
  /// (ListenerSettings::forwarders), the last address of X-Forwarded-For that is none of them.
  std::string_view client_address;
  bool secure = false;        ///< Came over TLS.
  base::Instant time_zero{};  ///< When the reactor could first have seen the first byte.
  base::Instant read_at{};    ///< When the last byte was read.
  /// From time_zero to reading the first byte, a pause of reads taken off: how far this thread is
  /// behind its work, not how long it chose not to look.
  base::Duration queue_age{};

  /// First value of `name` (compared without case), empty when absent.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  /// Target up to `?`, and what follows it.
  [[nodiscard]] std::string_view path() const;
  [[nodiscard]] std::string_view query() const;
};

/// One answer. `Content-Length`, `Connection` and `Date` are `net`'s business.
struct Response {
  uint16_t status = 200;
  std::string_view content_type{};  ///< Static text; empty for none.
  std::vector<std::pair<std::string_view, std::string>> headers{};  ///< Names are static text.
  std::string body{};
  bool close = false;  ///< Close the connection after this answer.
  /// Says no for want of capacity, from inside the handler: its cost counts as refusing.
  bool refusal = false;
};

}  // namespace spillway::net
