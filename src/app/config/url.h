#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spillway::app {

/// A place to call over HTTP.
struct HttpUrl {
  std::string host;          ///< Lower case; an IPv6 literal without its brackets.
  uint16_t port = 80;        ///< 443 by default for https.
  bool tls = false;          ///< https.
  std::string target = "/";  ///< Path and query.
};

/// Whether a URL's host is this machine: "localhost" or a loopback address.
[[nodiscard]] bool is_loopback(std::string_view host);

/// An IPv4 or IPv6 address, without brackets.
[[nodiscard]] bool is_address(std::string_view host);

/// "http://host[:port][/path][?query]", or https://. The error is a sentence for the operator.
/// Everything that could break out of a request line (white space, control bytes) is refused.
[[nodiscard]] base::Result<HttpUrl, std::string> parse_http_url(std::string_view url);

/// An address to listen on.
struct ListenAddress {
  std::string host;  ///< "127.0.0.1", "::1"
  uint16_t port = 0;
  bool loopback = false;
};

/// "127.0.0.1:8080", "[::1]:0": a literal address and a port; nothing for any other text.
[[nodiscard]] std::optional<ListenAddress> parse_listen(std::string_view text);

/// The text parse_listen reads: "[::1]:80".
[[nodiscard]] std::string listen_text(std::string_view host, uint16_t port);

}  // namespace spillway::app
