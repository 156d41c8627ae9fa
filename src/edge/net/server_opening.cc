// The opening half of ServerConnection: what comes before its first request.
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <sys/types.h>

#include "base/time.h"
#include "net/address_set.h"
#include "net/http2_connection.h"
#include "net/http2_session.h"
#include "net/proxy_header.h"
#include "net/server.h"
#include "net/server_connection.h"
#include "net/server_worker.h"
#include "net/stream.h"
#include "net/tls.h"

namespace spillway::net {
namespace {

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace

void ServerConnection::begin_opening() {
  const ListenerSettings& listener = worker_.shared.listener;
  takes_proxy_header_ = !listener.proxies.empty();
  peer_forwards_ = listener.forwarders.contains(address_of(peer_));
  if (!takes_proxy_header_ && listener.tls == nullptr) {
    return;
  }
  if (takes_proxy_header_ && !listener.proxies.contains(address_of(peer_))) {
    worker_.counters.proxy_untrusted.add();
    destroy();
  } else if (worker_.handshakes >= listener.handshakes) {
    worker_.counters.over_handshakes.add();
    destroy();
  } else {
    opening_ = true;
    ++worker_.handshakes;
  }
}

void ServerConnection::go_on_opening() {
  const base::Instant held_since = std::exchange(held_since_, base::kNever);
  if (takes_proxy_header_ && !read_proxy_header()) {
    return;
  }
  if (worker_.shared.listener.tls != nullptr && !shake_hands()) {
    return;
  }
  opening_ = false;
  --worker_.handshakes;
  phase_since_ = worker_.reactor.now();
  if (worker_.shared.listener.http2.enabled && stream_.tls() != nullptr &&
      stream_.tls()->protocol() == "h2") {
    become_http2();
    return;
  }
  held_since_ = held_since;
  read();  // the handshake may have read ahead
  update();
}

/// True when it is there whole. Takes not one byte of what follows it.
bool ServerConnection::read_proxy_header() {
  std::array<char, kProxyHeaderMax> bytes{};
  const size_t had = proxy_header_.size();
  const ssize_t got = ::recv(stream_.fd(), bytes.data(), bytes.size() - had, MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (got <= 0) {
    worker_.counters.proxy_malformed.add();
    destroy();
    return false;
  }
  const auto size = static_cast<size_t>(got);
  proxy_header_.append(bytes.data(), size);
  ProxyHeader header = parse_proxy_header(proxy_header_);
  if (header.state == ProxyHeader::State::kBad ||
      (header.state == ProxyHeader::State::kMore && proxy_header_.size() == kProxyHeaderMax)) {
    worker_.counters.proxy_malformed.add();
    destroy();
    return false;
  }
  const bool whole = header.state == ProxyHeader::State::kWhole;
  static_cast<void>(::recv(stream_.fd(), bytes.data(), whole ? header.size - had : size, 0));
  if (!whole) {
    return false;
  }
  takes_proxy_header_ = false;
  proxy_header_ = std::string();
  if (!header.source.empty()) {
    peer_ = std::move(header.source);
    peer_forwards_ = worker_.shared.listener.forwarders.contains(address_of(peer_));
  }
  return true;
}

/// True when the handshake is done.
bool ServerConnection::shake_hands() {
  if (stream_.tls() == nullptr) {
    stream_.secure(worker_.shared.listener.tls->accept(stream_.fd()));
    if (stream_.tls() == nullptr) {
      worker_.counters.tls_protocol.add();
      destroy();
      return false;
    }
  }
  switch (stream_.handshake().state) {
    case IoResult::State::kDone:
      worker_.counters.tls_handshakes.add();
      if (stream_.tls()->resumed()) {
        worker_.counters.tls_resumed.add();
      }
      return true;
    case IoResult::State::kBlocked:
      update();
      return false;
    case IoResult::State::kEnd:
    case IoResult::State::kFailed:
      count_failed_handshake();
      destroy();
      return false;
  }
  return false;
}

void ServerConnection::count_failed_handshake() {
  ServerCounters& counters = worker_.counters;
  switch (stream_.tls()->failure()) {
    case TlsFailure::kPlaintext:
      counters.tls_plaintext.add();
      break;
    case TlsFailure::kCertificate:
      counters.tls_certificate.add();
      break;
    case TlsFailure::kProtocol:
      counters.tls_protocol.add();
      break;
    case TlsFailure::kNone:
    case TlsFailure::kClosed:
      counters.tls_closed.add();
      break;
  }
}

/// Whether the first bytes are, or may become, HTTP/2's preface on a plain connection. Over TLS the
/// protocol is agreed on, never guessed.
bool ServerConnection::begins_http2() {
  const std::string_view bytes(in_.data() + begin_, end_ - begin_);
  fresh_ = worker_.shared.listener.http2.enabled && stream_.tls() == nullptr &&
           kHttp2Preface.starts_with(bytes.substr(0, kHttp2Preface.size()));
  if (!fresh_) {
    return false;
  }
  needs_bytes_ = true;
  if (bytes.size() >= kHttp2Preface.size()) {
    become_http2();
  }
  return true;
}

/// Hands the socket over, with what was read.
void ServerConnection::become_http2() {
  cancel();
  worker_.reactor.remove(stream_.fd(), *this);
  dead_ = true;
  auto next = std::make_unique<Http2Connection>(
      worker_, std::move(stream_),
      Http2Caller{.peer = peer_,
                  .secure = worker_.shared.listener.tls != nullptr,
                  .forwards = peer_forwards_});
  Http2Connection& http2 = *next;
  worker_.replace(*this, std::move(next));
  http2.open(in_ ? std::string_view(in_.data() + begin_, end_ - begin_) : std::string_view{});
  drop_input();
}

}  // namespace spillway::net
