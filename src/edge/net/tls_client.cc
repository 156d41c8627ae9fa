#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/result.h"
#include "net/address_set.h"
#include "net/tls.h"
#include "net/tls_context.h"

namespace spillway::net {

TlsClient::TlsClient(TlsClientSettings settings) : settings_(std::move(settings)) {}

base::Result<std::shared_ptr<TlsClient>, std::string> TlsClient::make(TlsClientSettings settings) {
  std::shared_ptr<TlsClient> client(new TlsClient(std::move(settings)));
  const TlsClientSettings& with = client->settings_;
  client->context_ = new_tls_context(TLS_client_method());
  SSL_CTX* const context = client->context_.get();
  if (context == nullptr) {
    return std::unexpected(tls_error("cannot set up TLS for", with.host));
  }
  if (with.verify) {
    if (with.ca_file.empty()) {
      SSL_CTX_set_default_verify_paths(context);
    } else if (SSL_CTX_load_verify_file(context, with.ca_file.c_str()) != 1) {
      return std::unexpected(tls_error("cannot use the CA certificates in", with.ca_file));
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  if (!with.certificate_file.empty()) {
    if (auto error = use_tls_pair(context, with.certificate_file, with.key_file); !error.empty()) {
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
  auto session = new_tls_session(context_.get(), fd, shared_from_this());
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
