#include "net/proxy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "net/address_set.h"

namespace spillway::net {
namespace {

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view kText = "PROXY ";
constexpr size_t kTextMax = 107;
constexpr size_t kFixed = 16;

ProxyHeader bad() { return {.state = ProxyHeader::State::kBad, .size = 0, .source = {}}; }

uint8_t byte(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

unsigned big_endian(std::string_view bytes, size_t at) {
  return static_cast<unsigned>(byte(bytes, at)) << 8U | byte(bytes, at + 1);
}

std::string join(std::string_view address, unsigned port) {
  const bool v6 = address.contains(':');
  return (v6 ? "[" : "") + std::string(address) + (v6 ? "]:" : ":") + std::to_string(port);
}

/// The next word of `text`, which loses it and one space.
std::string_view take_word(std::string_view& text) {
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

bool parse_port(std::string_view text, unsigned& port) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && error == std::errc() && rest == text.data() + text.size() &&
         port <= 65535;
}

ProxyHeader parse_text(std::string_view bytes) {
  const size_t end = bytes.substr(0, kTextMax).find("\r\n");
  if (end == std::string_view::npos) {
    return bytes.size() >= kTextMax ? bad() : ProxyHeader{};
  }
  std::string_view line = bytes.substr(kText.size(), end - kText.size());
  ProxyHeader header{.state = ProxyHeader::State::kWhole, .size = end + 2, .source = {}};
  const std::string_view family = take_word(line);
  if (family == "UNKNOWN") {
    return header;
  }
  const std::string_view source = take_word(line);
  const std::string_view target = take_word(line);
  const std::string_view source_port = take_word(line);
  const bool v6 = family == "TCP6";
  unsigned port = 0;
  unsigned target_port = 0;
  if ((!v6 && family != "TCP4") || source.contains(':') != v6 || !parse_ip(source) ||
      !parse_ip(target) || !parse_port(source_port, port) || !parse_port(line, target_port)) {
    return bad();
  }
  header.source = join(source, port);
  return header;
}

ProxyHeader parse_binary(std::string_view bytes) {
  if (bytes.size() < kFixed) {
    return {};
  }
  constexpr unsigned kLocal = 0x20;
  constexpr unsigned kProxied = 0x21;
  const unsigned command = byte(bytes, 12);
  const unsigned family = byte(bytes, 13) >> 4U;
  const size_t size = big_endian(bytes, 14);
  if ((command != kLocal && command != kProxied) || kFixed + size > kProxyHeaderMax) {
    return bad();
  }
  if (bytes.size() < kFixed + size) {
    return {};
  }
  ProxyHeader header{.state = ProxyHeader::State::kWhole, .size = kFixed + size, .source = {}};
  const bool v4 = family == 1;
  if (command == kLocal || (!v4 && family != 2)) {
    return header;
  }
  const size_t address_size = v4 ? 4 : 16;
  if (size < 2 * address_size + 4) {
    return bad();
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data() + kFixed, text.data(), text.size());
  header.source = join(text.data(), big_endian(bytes, kFixed + 2 * address_size));
  return header;
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view bytes) {
  const auto begins = [bytes](std::string_view mark) {
    return mark.starts_with(bytes.substr(0, mark.size()));
  };
  if (begins(kSignature)) {
    return bytes.size() < kSignature.size() ? ProxyHeader{} : parse_binary(bytes);
  }
  if (begins(kText)) {
    return bytes.size() < kText.size() ? ProxyHeader{} : parse_text(bytes);
  }
  return bad();
}

}  // namespace spillway::net
