#include "net/tls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/uio.h>

#include "net/stream.h"

namespace spillway::net {
namespace {

constexpr size_t kRecord = 16 * 1024;

TlsFailure failure_of(unsigned long code) {
  if (code == 0) {
    return TlsFailure::kClosed;
  }
  switch (ERR_GET_REASON(code)) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
      return TlsFailure::kPlaintext;
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return TlsFailure::kClosed;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return TlsFailure::kCertificate;
    default:
      return TlsFailure::kProtocol;
  }
}

}  // namespace

void TlsSession::begin(bool server) {
  if (server) {
    SSL_set_accept_state(session_.get());
  } else {
    SSL_set_connect_state(session_.get());
  }
}

/// Reads OpenSSL's verdict on a call that did not succeed.
IoResult TlsSession::outcome(int code) {
  const int system_error = errno;
  wants_write_ = false;
  switch (SSL_get_error(session_.get(), code)) {
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      return {.state = IoResult::State::kBlocked};
    case SSL_ERROR_WANT_READ:
      return {.state = IoResult::State::kBlocked};
    case SSL_ERROR_ZERO_RETURN:
      return {.state = IoResult::State::kEnd};
    default:
      broken_ = true;
      if (const unsigned long queued = ERR_peek_last_error(); queued != 0) {
        failure_ = failure_of(queued);
        return {.state = IoResult::State::kFailed, .error = EPROTO};
      }
      failure_ = TlsFailure::kClosed;
      return {.state = IoResult::State::kFailed,
              .error = system_error != 0 ? system_error : ECONNRESET};
  }
}

IoResult TlsSession::handshake() {
  ERR_clear_error();
  errno = 0;
  const int code = SSL_do_handshake(session_.get());
  if (code == 1) {
    ready_ = true;
    wants_write_ = false;
    may_hold_bytes_ = true;  // read ahead
    return {};
  }
  return outcome(code);
}

IoResult TlsSession::read(char* into, size_t size) {
  size_t total = 0;
  while (total < size) {
    ERR_clear_error();
    errno = 0;
    size_t got = 0;
    const int code = SSL_read_ex(session_.get(), into + total, size - total, &got);
    if (code != 1) {
      may_hold_bytes_ = total != 0;
      const IoResult result = outcome(code);
      if (total == 0) {
        return result;
      }
      may_hold_bytes_ = result.state != IoResult::State::kBlocked;
      return {.bytes = total};
    }
    total += got;
  }
  may_hold_bytes_ = true;
  return {.bytes = total};
}

IoResult TlsSession::write(std::span<iovec> parts) {
  static thread_local std::array<char, kRecord> record;
  size_t total = 0;
  size_t part = 0;
  size_t at = 0;  // in parts[part]
  while (part < parts.size()) {
    size_t filled = 0;
    size_t next = part;
    size_t next_at = at;
    while (next < parts.size() && filled < kRecord) {
      const size_t bytes = std::min(parts[next].iov_len - next_at, kRecord - filled);
      std::memcpy(record.data() + filled, static_cast<char*>(parts[next].iov_base) + next_at,
                  bytes);
      filled += bytes;
      next_at += bytes;
      if (next_at == parts[next].iov_len) {
        ++next;
        next_at = 0;
      }
    }
    if (filled == 0) {
      break;
    }
    ERR_clear_error();
    errno = 0;
    size_t written = 0;
    const int code = SSL_write_ex(session_.get(), record.data(), filled, &written);
    if (code != 1) {
      const IoResult result = outcome(code);
      return total != 0 && result.state == IoResult::State::kBlocked ? IoResult{.bytes = total}
                                                                     : result;
    }
    total += written;  // a whole record: partial writes end between records
    part = next;
    at = next_at;
  }
  return {.bytes = total};
}

void TlsSession::shut() {
  if (ready_ && !broken_) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
}

std::string_view TlsSession::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(session_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

}  // namespace spillway::net
