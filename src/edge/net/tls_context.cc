#include "net/tls_context.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "net/tls.h"

namespace spillway::net {
namespace {

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
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the only place a BIO has for its descriptor
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
    BIO_set_init(bio, 1);
  }
  return bio;
}

}  // namespace

std::string tls_error(const std::string& what, const std::string& file) {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_error();
  const char* const why = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (why == nullptr && code != 0) {
    ERR_error_string_n(code, text.data(), text.size());
  }
  ERR_clear_error();
  return what + " " + file + ": " + (why != nullptr ? why : text.data());
}

std::unique_ptr<SSL_CTX, TlsFree> new_tls_context(const SSL_METHOD* method) {
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

std::string use_tls_pair(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return tls_error("cannot use the certificate in", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("cannot use the key in", key);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return tls_error("the key does not fit the certificate: " + certificate + " and", key);
  }
  return {};
}

std::unique_ptr<TlsSession> new_tls_session(SSL_CTX* context, int fd, std::shared_ptr<void> owner) {
  std::unique_ptr<SSL, TlsFree> session(SSL_new(context));
  BIO* const bio = session == nullptr ? nullptr : socket_bio(fd);
  if (bio == nullptr) {
    return nullptr;
  }
  SSL_set_bio(session.get(), bio, bio);
  return std::make_unique<TlsSession>(session.release(), std::move(owner));
}

}  // namespace spillway::net
