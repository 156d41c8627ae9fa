// How a RedisConnection becomes ready: TCP, TLS, who it is, what the server is.
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "adapters/redis_client.h"
#include "adapters/redis_connection.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "net/tls.h"

namespace spillway::adapters {

namespace {

using net::IoResult;

constexpr uint64_t kAuth = RedisConnection::kGreetings;
constexpr uint64_t kSelect = kAuth + 1;
constexpr uint64_t kRole = kAuth + 2;

}  // namespace

bool RedisConnection::connect(const net::SocketAddress& address) {
  net::UniqueFd socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    return false;
  }
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int code =
      ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address.storage), address.size);
  if (code != 0 && errno != EINPROGRESS) {
    return false;
  }
  stream_ = net::Stream(std::move(socket));
  want(EPOLLOUT);
  reactor_.timers().arm(*this, reactor_.now() + settings_.connect_timeout);
  return true;
}

void RedisConnection::connected() {
  int error = 0;
  socklen_t size = sizeof error;  // NOLINT(misc-include-cleaner)
  getsockopt(stream_.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    end(RedisErrc::kRefused);
    return;
  }
  if (tls_ == nullptr) {
    greet();
    return;
  }
  stream_.secure(tls_->connect(stream_.fd()));
  if (stream_.tls() == nullptr) {
    end(RedisErrc::kTls);
    return;
  }
  state_ = State::kSecuring;
  secure();
}

void RedisConnection::secure() {
  const IoResult result = stream_.handshake();
  if (result.state == IoResult::State::kDone) {
    greet();
  } else if (result.state == IoResult::State::kBlocked) {
    want(stream_.tls()->wants_write() ? EPOLLOUT : EPOLLIN);
  } else {
    end(io_error() == RedisErrc::kTls ? RedisErrc::kTls : RedisErrc::kLost);
  }
}

void RedisConnection::greet() {
  state_ = State::kGreeting;
  want(EPOLLIN);
  const bool sentinel = role_ == RedisRole::kSentinel;
  const std::string& password = sentinel ? settings_.sentinel_password : settings_.password;
  if (!password.empty() && (sentinel || settings_.user.empty())) {
    greet_with(std::array<std::string_view, 2>{"AUTH", password}, kAuth);
  } else if (!password.empty()) {
    greet_with(std::array<std::string_view, 3>{"AUTH", settings_.user, password}, kAuth);
  }
  if (!sentinel && settings_.database != 0) {
    greet_with(std::array<std::string_view, 2>{"SELECT", std::to_string(settings_.database)},
               kSelect);
  }
  // Asked of everybody: an answer is what makes a connection ready, a kernel's is not enough.
  greet_with(std::array<std::string_view, 1>{sentinel ? "PING" : "ROLE"}, kRole);
  flush();
}

void RedisConnection::greet_with(std::span<const std::string_view> parts, uint64_t step) {
  if (!send(RedisCommand(parts), step)) {
    end(RedisErrc::kProtocol);  // No memory for it.
  }
}

void RedisConnection::on_greeting(uint64_t step, const RedisReply& reply) {
  const bool failed = reply.type() == RedisType::kError;
  if (step != kRole) {
    if (failed) {
      end(RedisErrc::kErrorReply, reply.text());
    }
    return;
  }
  // A server that lets nobody ask for its role (ACL, managed services) is taken for what it is
  // configured as; one that is loading or wants a password is not ready.
  const std::string_view text = reply.text();
  if (failed && !text.starts_with("NOPERM") && !text.starts_with("ERR")) {
    end(RedisErrc::kErrorReply, text);
    return;
  }
  if (role_ == RedisRole::kPrimary && !failed && reply[0].text() != "master") {
    end(RedisErrc::kRefused, "not the primary");
    return;
  }
  state_ = State::kReady;
  was_ready_ = true;
  cancel();
  watch();
  owner_.on_ready(*this);
}

}  // namespace spillway::adapters
