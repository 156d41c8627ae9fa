#include "relay_floor/wire.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace spillway::relay_floor {

namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

size_t message_bytes(std::string_view bytes) {
  const size_t head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) {
    return 0;
  }
  // The end of Content-Length in either spelling of its capital.
  constexpr std::string_view kLength = "ength: ";
  const size_t at = bytes.substr(0, head).find(kLength);
  size_t body = 0;
  if (at != std::string_view::npos) {
    std::from_chars(bytes.data() + at + kLength.size(), bytes.data() + head, body);
  }
  const size_t whole = head + 4 + body;
  return bytes.size() >= whole ? whole : 0;
}

Listener listen_anywhere() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  require(fd >= 0 && ::bind(fd, generic, size) == 0 && ::listen(fd, 512) == 0 &&
              ::getsockname(fd, generic, &size) == 0,
          "cannot listen on loopback");
  return {.fd = fd, .port = ntohs(address.sin_port)};
}

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  no_delay(fd);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

int accept_from(int listener) {
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    no_delay(fd);
  }
  return fd;
}

void require(bool held, std::string_view what) {
  if (!held) {
    std::fprintf(stderr, "relay_floor: %.*s\n", static_cast<int>(what.size()), what.data());
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
}

}  // namespace spillway::relay_floor
