#pragma once

#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "net/tls.h"

namespace spillway::net {

// What both sides of TLS are made with. Only tls_server.cc and tls_client.cc include this.

/// `what file: OpenSSL's first reason`; its queue of errors is empty afterwards.
[[nodiscard]] std::string tls_error(const std::string& what, const std::string& file);

/// A context as both sides want it; null when memory is gone.
[[nodiscard]] std::unique_ptr<SSL_CTX, TlsFree> new_tls_context(const SSL_METHOD* method);

/// Loads a chain and its key; one sentence when that fails.
[[nodiscard]] std::string use_tls_pair(SSL_CTX* context, const std::string& certificate,
                                       const std::string& key);

/// A session on a socket, not begun; null when memory is gone.
[[nodiscard]] std::unique_ptr<TlsSession> new_tls_session(SSL_CTX* context, int fd,
                                                          std::shared_ptr<void> owner);

}  // namespace spillway::net
