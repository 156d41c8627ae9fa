#include "app/config/url.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/result.h"

namespace spillway::app {
namespace {

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || rest != text.data() + text.size()) {
    return std::nullopt;
  }
  return port;
}

bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_ipv6(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool is_ipv4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// Host and port text of "host", "host:port", "[v6]", "[v6]:port".
struct Authority {
  std::string host;
  std::optional<std::string_view> port;
  bool bracketed = false;
};

std::optional<Authority> split_authority(std::string_view text) {
  Authority authority;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    authority.bracketed = true;
    authority.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const size_t colon = text.find(':');
    authority.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (!rest.empty()) {
    if (!rest.starts_with(':')) {
      return std::nullopt;
    }
    authority.port = rest.substr(1);
  }
  std::ranges::transform(authority.host, authority.host.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return authority;
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && is_ipv4(std::string(host)));
}

bool is_address(std::string_view host) {
  return is_ipv4(std::string(host)) || is_ipv6(std::string(host));
}

base::Result<HttpUrl, std::string> parse_http_url(std::string_view url) {
  const auto fail = [whole = url](std::string_view why) {
    return std::unexpected(fmt::format("must be an http URL, is \"{}\": {}", whole, why));
  };
  if (std::ranges::any_of(url, [](char c) { return c <= ' ' || c == 0x7f; })) {
    return fail("it has white space or control bytes in it");
  }
  HttpUrl parsed;
  parsed.tls = url.starts_with("https://");
  if (!parsed.tls && !url.starts_with("http://")) {
    return fail("it does not begin with http:// or https://");
  }
  parsed.port = parsed.tls ? 443 : 80;
  url.remove_prefix(parsed.tls ? 8 : 7);
  if (url.contains('#')) {
    return fail("a fragment is never sent");
  }
  const size_t end = std::min(url.find_first_of("/?"), url.size());
  const auto authority = split_authority(url.substr(0, end));
  if (!authority || url.substr(0, end).contains('@')) {
    return fail("its host is no host");
  }
  const bool host_fits =
      authority->bracketed
          ? is_ipv6(authority->host)
          : !authority->host.empty() && std::ranges::all_of(authority->host, is_host_byte);
  if (!host_fits) {
    return fail("its host is no host");
  }
  parsed.host = authority->host;
  if (authority->port) {
    const auto port = parse_port(*authority->port);
    if (!port || *port == 0) {
      return fail("its port is not between 1 and 65535");
    }
    parsed.port = *port;
  }
  parsed.target = url.substr(end);
  if (!parsed.target.starts_with('/')) {
    parsed.target.insert(0, 1, '/');
  }
  return parsed;
}

std::optional<ListenAddress> parse_listen(std::string_view text) {
  const auto authority = split_authority(text);
  if (!authority || !authority->port) {
    return std::nullopt;
  }
  const auto port = parse_port(*authority->port);
  const bool literal = authority->bracketed ? is_ipv6(authority->host) : is_ipv4(authority->host);
  if (!port || !literal) {
    return std::nullopt;
  }
  return ListenAddress{.host = authority->host,
                       .port = *port,
                       .loopback = authority->host.starts_with("127.") || authority->host == "::1"};
}

std::string listen_text(std::string_view host, uint16_t port) {
  return !host.contains(':') ? fmt::format("{}:{}", host, port)
                             : fmt::format("[{}]:{}", host, port);
}

}  // namespace spillway::app
