#include "app/dsp/farm_listener.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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

#include "app/dsp/farm_connection.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "net/tls.h"
#include "workload/partner.h"

namespace spillway::app {

namespace {

constexpr int kBacklog = 1024;

int closed_with_errno(int fd) {
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace

FarmListener::FarmListener(net::Reactor& reactor, workload::Partner& partner, std::string host,
                           std::shared_ptr<net::TlsServer> tls)
    : reactor_(reactor), partner_(partner), host_(std::move(host)), tls_(std::move(tls)) {}

FarmListener::~FarmListener() {
  connections_.clear();
  shut();
  if (reserve_ >= 0) {
    ::close(reserve_);
  }
}

std::string FarmListener::open(uint16_t port) {
  reserve_ = bound_socket(port);
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (reserve_ < 0 || ::getsockname(reserve_, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return fmt::format("cannot bind {}:{}: {}", host_, port,
                       std::generic_category().message(errno));
  }
  port_ = ntohs(bound.sin_port);
  return listen() ? ""
                  : fmt::format("cannot listen on {}: {}", address(),
                                std::generic_category().message(errno));
}

std::string FarmListener::address() const { return fmt::format("{}:{}", host_, port_); }

size_t FarmListener::connections() const {
  size_t open = 0;
  for (const auto& connection : connections_) {
    open += connection->closed() ? 0 : 1;
  }
  return open;
}

int FarmListener::bound_socket(uint16_t port) const {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host_.c_str(), &address.sin_addr) != 1) {
    errno = EINVAL;
    return -1;
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? fd
             : closed_with_errno(fd);
}

bool FarmListener::listen() {
  const int fd = bound_socket(port_);
  if (fd < 0) {
    return false;
  }
  if (::listen(fd, kBacklog) != 0) {
    closed_with_errno(fd);
    return false;
  }
  listener_ = fd;
  reactor_.add(listener_, EPOLLIN, *this);
  return true;
}

void FarmListener::shut() {
  if (listener_ >= 0) {
    reactor_.remove(listener_, *this);
    ::close(listener_);
    listener_ = -1;
  }
}

void FarmListener::follow_faults(base::Instant now) {
  const bool wanted = partner_.faults().listening(now, host_);
  if (wanted && !listening()) {
    listen();  // a failure is tried again at the next tick
  } else if (!wanted && listening()) {
    on_ready(0);
    shut();
    for (const auto& connection : connections_) {
      connection->read_and_reset();
    }
  }
}

void FarmListener::sweep() {
  std::erase_if(connections_, [](const auto& connection) { return connection->closed(); });
}

void FarmListener::on_ready(uint32_t /*events*/) {
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
    connections_.push_back(std::make_unique<FarmConnection>(
        reactor_, std::move(stream),
        FarmConnection::Home{.partner = partner_, .host = host_, .calls = calls_}));
  }
}

}  // namespace spillway::app
