#include "net/tls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/result.h"
#include "net/address_set.h"
#include "net/stream.h"

namespace spillway::net {
namespace {

constexpr size_t kRecord = 16 * 1024;

int fd_of(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// OpenSSL's own socket BIO writes with write(), which raises SIGPIPE.
int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(fd_of(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && would_block()) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(fd_of(bio), into, static_cast<size_t>(size), 0);
  if (got < 0 && would_block()) {
    BIO_set_retry_read(bio);
  }
  if (got == 0) {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  }
  return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) {
    return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  }
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* socket_bio(int fd) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "spillway socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  BIO* const bio = BIO_new(method);
  if (bio != nullptr) {
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
    BIO_set_init(bio, 1);
  }
  return bio;
}

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

std::string reason(const std::string& what, const std::string& file) {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_error();
  const char* const why = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (why == nullptr && code != 0) {
    ERR_error_string_n(code, text.data(), text.size());
  }
  ERR_clear_error();
  return what + " " + file + ": " + (why != nullptr ? why : text.data());
}

/// What both sides want of a context; null when memory is gone.
std::unique_ptr<SSL_CTX, TlsFree> new_context(const SSL_METHOD* method) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, TlsFree> context(SSL_CTX_new(method));
  if (context != nullptr) {
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context.get(), 1);  // a record is one read, not two
  }
  return context;
}

/// Loads a chain and its key; one sentence when that fails.
std::string use_pair(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return reason("cannot use the certificate in", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return reason("cannot use the key in", key);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return reason("the key does not fit the certificate: " + certificate + " and", key);
  }
  return {};
}

int choose_protocol(SSL* /*session*/, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned offered_size, void* list) {
  const auto& ours = *static_cast<const std::vector<unsigned char>*>(list);
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, ours.data(), static_cast<unsigned>(ours.size()),
                            offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

std::unique_ptr<TlsSession> session_on(SSL_CTX* context, int fd, std::shared_ptr<void> owner) {
  std::unique_ptr<SSL, TlsFree> session(SSL_new(context));
  BIO* const bio = session == nullptr ? nullptr : socket_bio(fd);
  if (bio == nullptr) {
    return nullptr;
  }
  SSL_set_bio(session.get(), bio, bio);
  return std::make_unique<TlsSession>(session.release(), std::move(owner));
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

TlsServer::TlsServer(TlsServerSettings settings) : settings_(std::move(settings)) {
  for (const auto& protocol : settings_.protocols) {
    protocol_list_.push_back(static_cast<unsigned char>(protocol.size()));
    protocol_list_.insert(protocol_list_.end(), protocol.begin(), protocol.end());
  }
  RAND_bytes(ticket_keys_.data(), static_cast<int>(ticket_keys_.size()));
}

base::Result<std::shared_ptr<TlsServer>, std::string> TlsServer::make(TlsServerSettings settings) {
  std::shared_ptr<TlsServer> server(new TlsServer(std::move(settings)));
  if (std::string error = server->load(); !error.empty()) {
    return std::unexpected(std::move(error));
  }
  return server;
}

std::string TlsServer::load() {
  auto fresh = new_context(TLS_server_method());
  if (fresh == nullptr) {
    return reason("cannot set up TLS for", settings_.certificate_file);
  }
  SSL_CTX* const context = fresh.get();
  if (auto error = use_pair(context, settings_.certificate_file, settings_.key_file);
      !error.empty()) {
    return error;
  }
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets alone
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_tlsext_ticket_keys(context, ticket_keys_.data(), ticket_keys_.size());
  constexpr std::string_view kId = "spillway";
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kId.data()),
                                 kId.size());
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, &protocol_list_);
  if (const auto& file = settings_.client_ca_file; !file.empty()) {
    if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
      return reason("cannot use the CA certificates in", file);
    }
    SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(file.c_str()));
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  const std::lock_guard lock(mutex_);
  context_ = std::move(fresh);
  return {};
}

std::unique_ptr<TlsSession> TlsServer::accept(int fd) {
  const std::lock_guard lock(mutex_);
  auto session = session_on(context_.get(), fd, shared_from_this());
  if (session != nullptr) {
    session->begin(true);
  }
  return session;
}

TlsClient::TlsClient(TlsClientSettings settings) : settings_(std::move(settings)) {}

base::Result<std::shared_ptr<TlsClient>, std::string> TlsClient::make(TlsClientSettings settings) {
  std::shared_ptr<TlsClient> client(new TlsClient(std::move(settings)));
  const TlsClientSettings& with = client->settings_;
  client->context_ = new_context(TLS_client_method());
  SSL_CTX* const context = client->context_.get();
  if (context == nullptr) {
    return std::unexpected(reason("cannot set up TLS for", with.host));
  }
  if (with.verify) {
    if (with.ca_file.empty()) {
      SSL_CTX_set_default_verify_paths(context);
    } else if (SSL_CTX_load_verify_file(context, with.ca_file.c_str()) != 1) {
      return std::unexpected(reason("cannot use the CA certificates in", with.ca_file));
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  if (!with.certificate_file.empty()) {
    if (auto error = use_pair(context, with.certificate_file, with.key_file); !error.empty()) {
      return std::unexpected(std::move(error));
    }
  }
  static constexpr std::string_view kProtocols = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(kProtocols.data()),
                          kProtocols.size());
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_sess_set_new_cb(context, keep);
  SSL_CTX_set_app_data(context, client.get());
  return client;
}

/// A ticket came; 1: it is ours now.
int TlsClient::keep(SSL* session, SSL_SESSION* ticket) {
  auto* const self = static_cast<TlsClient*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(session)));
  const std::lock_guard lock(self->mutex_);
  if (self->sessions_.size() >= kSessions) {
    self->sessions_.pop_front();
  }
  self->sessions_.emplace_back(ticket);
  return 1;
}

std::unique_ptr<TlsSession> TlsClient::connect(int fd) {
  auto session = session_on(context_.get(), fd, shared_from_this());
  if (session == nullptr) {
    return nullptr;
  }
  SSL* const ssl = session->native();
  if (parse_ip(settings_.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), settings_.host.c_str());
  } else {
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, settings_.host.c_str());
    SSL_set_tlsext_host_name(ssl, settings_.host.c_str());
  }
  {
    const std::lock_guard lock(mutex_);
    // The newest; kept too, for a peer that gives no second one. A burst may offer it twice.
    if (!sessions_.empty()) {
      SSL_set_session(ssl, sessions_.back().get());
    }
  }
  session->begin(false);
  return session;
}

}  // namespace spillway::net
