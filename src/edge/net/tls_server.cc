#include <algorithm>
#include <chrono>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/ssl.h>

#include "base/result.h"
#include "base/time.h"
#include "net/tls.h"
#include "net/tls_context.h"

namespace spillway::net {
namespace {

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

}  // namespace

TlsServer::TlsServer(TlsServerSettings settings) : settings_(std::move(settings)) {
  for (const auto& protocol : settings_.protocols) {
    protocol_list_.push_back(static_cast<unsigned char>(protocol.size()));
    protocol_list_.insert(protocol_list_.end(), protocol.begin(), protocol.end());
  }
}

base::Result<std::shared_ptr<TlsServer>, std::string> TlsServer::make(TlsServerSettings settings) {
  std::shared_ptr<TlsServer> server(new TlsServer(std::move(settings)));
  if (std::string error = server->load(); !error.empty()) {
    return std::unexpected(std::move(error));
  }
  return server;
}

std::string TlsServer::load() {
  auto fresh = new_tls_context(TLS_server_method());
  if (fresh == nullptr) {
    return tls_error("cannot set up TLS for", settings_.certificate_file);
  }
  SSL_CTX* const context = fresh.get();
  if (auto error = use_tls_pair(context, settings_.certificate_file, settings_.key_file);
      !error.empty()) {
    return error;
  }
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets alone
  SSL_CTX_set_num_tickets(context, 1);
  tickets_.use_in(context);
  constexpr base::Duration kLongest = std::chrono::hours(2);
  SSL_CTX_set_timeout(context, std::chrono::floor<std::chrono::seconds>(
                                   std::min(settings_.ticket_rotation, kLongest))
                                   .count());
  constexpr std::string_view kId = "spillway";
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kId.data()),
                                 kId.size());
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, &protocol_list_);
  if (const auto& file = settings_.client_ca_file; !file.empty()) {
    if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
      return tls_error("cannot use the CA certificates in", file);
    }
    SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(file.c_str()));
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  const std::lock_guard lock(mutex_);
  context_ = std::move(fresh);
  return {};
}

void TlsServer::tick(base::Instant now) {
  if (now >= tickets_due_) {
    tickets_.rotate();
  }
  if (tickets_due_ == base::kNever || now >= tickets_due_) {
    tickets_due_ = now + settings_.ticket_rotation;
  }
}

std::unique_ptr<TlsSession> TlsServer::accept(int fd) {
  const std::lock_guard lock(mutex_);
  auto session = new_tls_session(context_.get(), fd, shared_from_this());
  if (session != nullptr) {
    session->begin(true);
  }
  return session;
}

}  // namespace spillway::net
