#include "net/ticket_keys.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

namespace spillway::net {
namespace {

constexpr size_t kIvBytes = 16;

// What OpenSSL's callback may say.
constexpr int kFailed = -1;
constexpr int kUnknownKey = 0;  // a full handshake then
constexpr int kSealed = 1;
constexpr int kOpened = 2;  // and a new ticket is given: a caller uses each but once

}  // namespace

TicketKeys::Key TicketKeys::random_key() {
  Key key;
  RAND_bytes(key.name.data(), static_cast<int>(key.name.size()));
  RAND_priv_bytes(key.cipher.data(), static_cast<int>(key.cipher.size()));
  RAND_priv_bytes(key.mac.data(), static_cast<int>(key.mac.size()));
  return key;
}

TicketKeys::TicketKeys() : current_(random_key()), previous_(random_key()) {}

TicketKeys::~TicketKeys() {
  OPENSSL_cleanse(&current_, sizeof current_);
  OPENSSL_cleanse(&previous_, sizeof previous_);
}

void TicketKeys::rotate() {
  const Key fresh = random_key();
  const std::lock_guard lock(mutex_);
  previous_ = current_;
  current_ = fresh;
  rotations_.fetch_add(1, std::memory_order_relaxed);
}

void TicketKeys::use_in(SSL_CTX* context) {
  SSL_CTX_set_app_data(context, this);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
}

// NOLINTNEXTLINE(readability-function-size): its parameters are OpenSSL's
int TicketKeys::on_ticket(SSL* session, unsigned char* name, unsigned char* iv,
                          EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int sealing) {
  auto& keys = *static_cast<TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(session)));
  const std::lock_guard lock(keys.mutex_);
  const auto named = [name](const Key& key) {
    return std::equal(key.name.begin(), key.name.end(), name);
  };
  const bool is_old = sealing == 0 && !named(keys.current_);
  if (is_old && !named(keys.previous_)) {
    return kUnknownKey;
  }
  Key& key = is_old ? keys.previous_ : keys.current_;
  if (sealing != 0) {
    std::ranges::copy(key.name, name);
    if (RAND_bytes(iv, kIvBytes) != 1) {
      return kFailed;
    }
  }
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 3> params{
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  const bool ready =
      EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv, sealing) == 1 &&
      EVP_MAC_CTX_set_params(mac, params.data()) == 1;
  if (!ready) {
    return kFailed;
  }
  return sealing != 0 ? kSealed : kOpened;
}

}  // namespace spillway::net
