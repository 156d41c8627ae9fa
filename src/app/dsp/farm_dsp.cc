#include "app/dsp/farm_dsp.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/dsp/farm_config.h"
#include "app/dsp/farm_connection.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "net/tls.h"

namespace spillway::app {

namespace {

constexpr base::Duration kTick = std::chrono::milliseconds(20);

/// "127.0.0.1:80" into its parts; false when it is no IPv4 address and port.
bool split(std::string_view text, std::string& host, uint16_t& port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  host = text.substr(0, colon);
  in_addr address{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  return error == std::errc() && rest == end && ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

FarmDsp::FarmDsp(net::Reactor& reactor, const FarmDspConfig& config, uint64_t seed,
                 base::Instant start)
    : reactor_(reactor), partner_(config.partner, start, seed) {
  if (!split(config.listen, host_, port_)) {
    error_ = fmt::format("{}: listen must be an IPv4 address and a port, is \"{}\"", name(),
                         config.listen);
    return;
  }
  if (!config.cert_file.empty()) {
    auto tls =
        net::TlsServer::make({.certificate_file = config.cert_file, .key_file = config.key_file});
    if (!tls) {
      error_ = fmt::format("{}: {}", name(), tls.error());
      return;
    }
    tls_ = std::move(*tls);
  }
  reserve_ = bound_socket(port_);
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (reserve_ < 0 || ::getsockname(reserve_, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    error_ = fmt::format("{}: cannot bind {}: {}", name(), config.listen,
                         std::generic_category().message(errno));
    return;
  }
  port_ = ntohs(bound.sin_port);
  if (!open_listener()) {
    error_ = fmt::format("{}: cannot listen on {}: {}", name(), address(),
                         std::generic_category().message(errno));
    return;
  }
  follow_faults(start);
  reactor_.timers().arm(*this, start + kTick);
}

FarmDsp::~FarmDsp() {
  cancel();
  connections_.clear();
  shut_listener();
  if (reserve_ >= 0) {
    ::close(reserve_);
  }
}

std::string FarmDsp::address() const { return fmt::format("{}:{}", host_, port_); }

size_t FarmDsp::connections() const {
  size_t open = 0;
  for (const auto& connection : connections_) {
    open += connection->closed() ? 0 : 1;
  }
  return open;
}

int FarmDsp::bound_socket(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host_.c_str(), &address.sin_addr);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

bool FarmDsp::open_listener() {
  const int fd = bound_socket(port_);
  if (fd < 0) {
    return false;
  }
  if (::listen(fd, 1024) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  listener_ = fd;
  reactor_.add(listener_, EPOLLIN, *this);
  return true;
}

void FarmDsp::shut_listener() {
  if (listener_ >= 0) {
    reactor_.remove(listener_, *this);
    ::close(listener_);
    listener_ = -1;
  }
}

void FarmDsp::follow_faults(base::Instant now) {
  const bool wanted = partner_.faults().listening(now);
  if (wanted && !listening()) {
    open_listener();  // a failure is tried again at the next tick
  } else if (!wanted && listening()) {
    shut_listener();
    for (const auto& connection : connections_) {
      connection->close(true);
    }
  }
}

void FarmDsp::on_timer(base::Instant now) {
  std::erase_if(connections_, [](const auto& connection) { return connection->closed(); });
  follow_faults(now);
  reactor_.timers().arm(*this, now + kTick);
}

void FarmDsp::on_ready(uint32_t /*events*/) {
  while (listener_ >= 0) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      return;
    }
    partner_.account().connections.add();
    if (connections_.size() >= kConnections) {
      ::close(fd);
      continue;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    net::Stream stream{net::UniqueFd(fd)};
    if (tls_ != nullptr) {
      auto session = tls_->accept(fd);
      if (session == nullptr) {
        continue;
      }
      stream.secure(std::move(session));
    }
    connections_.push_back(std::make_unique<FarmConnection>(reactor_, std::move(stream), partner_));
  }
}

}  // namespace spillway::app
