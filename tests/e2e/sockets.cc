#include "e2e/sockets.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <asm-generic/socket.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

namespace spillway::e2e {

Fd& Fd::operator=(Fd&& other) noexcept {
  close();
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() { close(); }

void Fd::close() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

Fd connect_to(uint16_t port, std::chrono::milliseconds patience) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{.tv_sec = patience.count() / 1000,
                        .tv_usec = (patience.count() % 1000) * 1000};
  ::setsockopt(fd.value(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.value(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fd.close();
  }
  return fd;
}

void reset(Fd& fd) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd.value(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  fd.close();
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = TEMP_FAILURE_RETRY(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (sent <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool receive_some(int fd, std::string& into) {
  char chunk[16384];
  const ssize_t count = TEMP_FAILURE_RETRY(::recv(fd, chunk, sizeof(chunk), 0));
  if (count <= 0) {
    return false;
  }
  into.append(chunk, static_cast<size_t>(count));
  return true;
}

int Message::status() const {
  const size_t space = start_line.find(' ');
  return space == std::string::npos ? 0 : std::atoi(start_line.c_str() + space + 1);
}

std::string Message::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

bool read_message(int fd, std::string& buffer, Message& out) {
  size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!receive_some(fd, buffer)) {
      return false;
    }
  }
  out = Message();
  std::string_view head = std::string_view(buffer).substr(0, end);
  out.start_line = head.substr(0, head.find("\r\n"));
  for (size_t line_end = 0; (line_end = head.find("\r\n")) != std::string_view::npos;) {
    head.remove_prefix(line_end + 2);
    const auto line = head.substr(0, head.find("\r\n"));
    const size_t colon = std::min(line.find(": "), line.size());
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    out.headers[name] = line.substr(std::min(colon + 2, line.size()));
  }
  const auto length = out.headers.contains("content-length")
                          ? std::strtoull(out.headers["content-length"].c_str(), nullptr, 10)
                          : 0;
  while (buffer.size() < end + 4 + length) {
    if (!receive_some(fd, buffer)) {
      return false;
    }
  }
  out.body = buffer.substr(end + 4, length);
  buffer.erase(0, end + 4 + length);
  return true;
}

Message Caller::call(std::string_view method, std::string_view target,
                     std::string_view body) const {
  const Fd fd = connect_to(port, std::chrono::seconds(10));
  send_all(fd.value(), fmt::format("{} {} HTTP/1.1\r\nHost: e2e\r\nContent-Length: {}\r\n{}\r\n{}",
                                   method, target, body.size(), extra_headers, body));
  std::string buffer;
  Message answer;
  (void)read_message(fd.value(), buffer, answer);
  return answer;
}

}  // namespace spillway::e2e
