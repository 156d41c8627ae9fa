#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include <openssl/evp.h>
#include <openssl/ssl.h>

namespace spillway::net {

/// The random keys that a server's resumption tickets are sealed with. One is in use; the one
/// before it still opens what it sealed; with each resumption the caller is given a new ticket. So
/// a ticket is good for at least the time between two rotations, and a key that leaks later opens
/// no older ones. They never leave the process. AES-256-CBC and HMAC-SHA256.
///
/// Any thread: one lock a ticket.
class TicketKeys {
 public:
  TicketKeys();
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  /// A new key is in use; the one before the last is forgotten.
  void rotate();

  [[nodiscard]] uint64_t rotations() const { return rotations_.load(std::memory_order_relaxed); }

  /// From now on `context` seals and opens with them; they must outlive its sessions.
  void use_in(SSL_CTX* context);

 private:
  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{};
    std::array<unsigned char, 32> mac{};
  };

  static int on_ticket(SSL* session, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* mac, int sealing);
  static Key random_key();

  std::mutex mutex_;
  Key current_;
  Key previous_;  ///< Of no ticket at first.
  std::atomic<uint64_t> rotations_{0};
};

}  // namespace spillway::net
