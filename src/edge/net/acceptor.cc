#include "net/acceptor.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/time.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/stream.h"

namespace spillway::net {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerEvent = 64;
constexpr base::Duration kPause = std::chrono::milliseconds(10);
constexpr base::Duration kHandshakesEnd = std::chrono::milliseconds(100);
constexpr base::Duration kQueueEnds = std::chrono::seconds(1);  // without descriptors, that is

UniqueFd spare_descriptor() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

Listener failed(std::string_view address, const std::string& reason) {
  return {
      .socket = {}, .port = 0, .error = "cannot listen on " + std::string(address) + ": " + reason};
}

// Drops segments with SYN before the kernel sees them; all others pass. Where it cannot be had, a
// connection made between the last accept and the close is reset.
void refuse_new_handshakes(int listener) {
  constexpr uint32_t kFlagsAt = 13;  // in a TCP header
  std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsAt),
                                   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, 0),
                                   BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)}};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  (void)::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

}  // namespace

Listener listen_on(std::string_view address) {
  std::string host;
  std::string port;
  if (!split_address(address, host, port)) {
    return failed(address, "expected address:port");
  }
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) {
    return failed(address, gai_strerror(code));
  }
  Listener listener;
  listener.socket.reset(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = listener.socket.fd();
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool listening =
      fd >= 0 && ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0;
  const int error = errno;
  freeaddrinfo(found);
  if (!listening) {
    return failed(address, std::generic_category().message(error));
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  // sin_port and sin6_port are at the same place.
  listener.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return listener;
}

std::string to_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(in.sin_port));
  }
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &in6.sin6_addr, text.data(), text.size());
  return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(in6.sin6_port));
}

Acceptor::Acceptor(Reactor& reactor, UniqueFd listener, ServerCounters& counters, Take take)
    : reactor_(reactor),
      listener_(std::move(listener)),
      spare_(spare_descriptor()),
      counters_(counters),
      take_(std::move(take)) {}

Acceptor::~Acceptor() {
  if (listening_) {
    reactor_.remove(listener_.fd(), *this);
  }
}

void Acceptor::start() {
  if (listener_ && !listening_) {
    listening_ = true;
    reactor_.add(listener_.fd(), EPOLLIN, *this);
  }
}

void Acceptor::stop(std::move_only_function<void()> closed) {
  if (!listener_ || give_up_at_ != base::kNever) {
    return;
  }
  closed_ = std::move(closed);
  const base::Instant now = reactor_.now();
  give_up_at_ = now + kHandshakesEnd + kQueueEnds;
  if (!listening_) {
    close(now);
    return;
  }
  refuse_new_handshakes(listener_.fd());
  reactor_.timers().arm(*this, now + kHandshakesEnd);
}

void Acceptor::close(base::Instant now) {
  Accepted last = Accepted::kNone;
  do {
    last = accept_one();
  } while (last == Accepted::kOne);
  if (last == Accepted::kMustPause && now < give_up_at_) {
    return;
  }
  if (std::exchange(listening_, false)) {
    reactor_.remove(listener_.fd(), *this);
  }
  cancel();
  listener_.reset();
  if (auto closed = std::exchange(closed_, nullptr)) {
    closed();
  }
}

void Acceptor::on_ready(uint32_t /*epoll_events*/) {
  for (int i = 0; i < kAcceptsPerEvent && accept_one() == Accepted::kOne; ++i) {
  }
}

Acceptor::Accepted Acceptor::accept_one() {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  UniqueFd socket(::accept4(listener_.fd(), reinterpret_cast<sockaddr*>(&peer), &size,
                            SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) {
    const int on = 1;
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    take_(std::move(socket), to_text(peer));
    return Accepted::kOne;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    return Accepted::kNone;
  }
  const int error = errno;
  counters_.accept_errors.add();
  if (error == EMFILE || error == ENFILE) {
    shed_one();
  }
  if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
    reactor_.change(listener_.fd(), 0, *this);
    reactor_.timers().arm(*this, reactor_.now() + kPause);
    return Accepted::kMustPause;
  }
  return Accepted::kOne;  // the caller went away while it was queued
}

void Acceptor::shed_one() {
  spare_.reset();
  UniqueFd refused(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  // Closed before the spare is opened again: it holds the only free number.
  refused.reset();
  spare_ = spare_descriptor();
}

void Acceptor::on_timer(base::Instant now) {
  if (give_up_at_ != base::kNever) {
    close(now);
  } else if (listening_) {
    reactor_.change(listener_.fd(), EPOLLIN, *this);
  }
}

}  // namespace spillway::net
