#include "app/demo/http_call.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include "net/http_parser.h"
#include "net/stream.h"

namespace spillway::app {

namespace {

constexpr net::ParseLimits kLimits{
    .header_bytes = 64 * 1024, .header_count = 100, .body_bytes = size_t{16} << 20};

}  // namespace

std::optional<std::string> http_call(uint16_t port, std::string_view method,
                                     std::string_view target, std::string_view body,
                                     std::chrono::milliseconds timeout) {
  const net::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return std::nullopt;
  }
  const std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
      method, target, body.size(), body);
  if (TEMP_FAILURE_RETRY(::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL)) !=
      static_cast<ssize_t>(request.size())) {
    return std::nullopt;
  }
  net::HttpParser parser(net::HttpParser::Kind::kResponse);
  parser.start(kLimits);
  std::string answer;
  std::array<char, 16 * 1024> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  auto progress = net::HttpParser::Progress::kMore;
  while (progress == net::HttpParser::Progress::kMore) {
    const ssize_t got = TEMP_FAILURE_RETRY(::recv(socket.fd(), bytes.data(), bytes.size(), 0));
    if (got < 0) {
      return std::nullopt;
    }
    answer.append(bytes.data(), static_cast<size_t>(got));
    progress = got == 0 ? parser.finish() : parser.feed(answer.data(), answer.size());
  }
  if (progress != net::HttpParser::Progress::kWhole || parser.status() != 200) {
    return std::nullopt;
  }
  return std::string(parser.body(answer.data()));
}

uint16_t port_of(std::string_view address) {
  uint16_t port = 0;
  const std::string_view text = address.substr(address.rfind(':') + 1);
  std::from_chars(text.data(), text.data() + text.size(), port);
  return port;
}

}  // namespace spillway::app
