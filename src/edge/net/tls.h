#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/ssl.h>
#include <sys/uio.h>

#include "base/result.h"
#include "base/time.h"
#include "net/stream.h"
#include "net/ticket_keys.h"

namespace spillway::net {

struct TlsFree {
  void operator()(SSL* session) const { SSL_free(session); }

  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};

/// Why a handshake came to nothing.
enum class TlsFailure : uint8_t {
  kNone,
  kPlaintext,    ///< The caller spoke HTTP, or something else that is no TLS record.
  kProtocol,     ///< No common version, cipher or application protocol; broken messages.
  kCertificate,  ///< A certificate was missing or refused, by us or by the peer.
  kClosed,       ///< The peer went away.
};

/// One connection's TLS: what stands behind Stream when it is secure. The descriptor stays the
/// Stream's. Records of up to 16 KiB leave in one system call each, gathered from all parts.
/// One thread. Memory: about 20 KiB while a handshake runs, then what OpenSSL keeps for an idle
/// connection (buffers are released).
class TlsSession {
 public:
  /// `owner`: what the session's callbacks point into.
  TlsSession(SSL* session, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), session_(session) {}

  /// Which side we are; before handshake().
  void begin(bool server);

  [[nodiscard]] SSL* native() const { return session_.get(); }

  /// kBlocked: call again on readiness (wants_write() says which).
  IoResult handshake();
  IoResult read(char* into, size_t size);
  IoResult write(std::span<iovec> parts);
  /// Says that no more bytes come from us.
  void shut();

  [[nodiscard]] bool wants_write() const { return wants_write_; }

  /// Bytes may wait here that no readiness will tell of.
  [[nodiscard]] bool may_hold_bytes() const { return may_hold_bytes_; }

  [[nodiscard]] TlsFailure failure() const { return failure_; }

  [[nodiscard]] bool resumed() const { return SSL_session_reused(session_.get()) == 1; }

  /// The application protocol agreed upon; empty for none.
  [[nodiscard]] std::string_view protocol() const;

 private:
  IoResult outcome(int code);

  std::shared_ptr<void> owner_;
  std::unique_ptr<SSL, TlsFree> session_;
  TlsFailure failure_ = TlsFailure::kNone;
  bool ready_ = false;
  bool broken_ = false;
  bool wants_write_ = false;
  bool may_hold_bytes_ = false;
};

struct TlsServerSettings {
  std::string certificate_file;                    ///< PEM, the chain behind it.
  std::string key_file;                            ///< PEM, not encrypted.
  std::vector<std::string> protocols{"http/1.1"};  ///< Application protocols, preferred first.
  std::string client_ca_file{};  ///< Callers must show a certificate of these; empty: none asked.
  base::Duration ticket_rotation = std::chrono::hours(12);  ///< How often their keys change.
};

/// The server's side: certificate, key and ticket keys. Tickets stay good across load() and one
/// rotate_tickets(). Any thread.
class TlsServer : public std::enable_shared_from_this<TlsServer> {
 public:
  /// The error is one sentence with the file and OpenSSL's reason.
  [[nodiscard]] static base::Result<std::shared_ptr<TlsServer>, std::string> make(
      TlsServerSettings settings);

  /// Reads the files again; handshakes from now on use them. With an error (one sentence) nothing
  /// changes; without, the text is empty.
  [[nodiscard]] std::string load();

  void rotate_tickets() { tickets_.rotate(); }

  /// Rotates them when ticket_rotation has passed since the last time. One thread, every second or
  /// so.
  void tick(base::Instant now);

  [[nodiscard]] uint64_t ticket_rotations() const { return tickets_.rotations(); }

  [[nodiscard]] const TlsServerSettings& settings() const { return settings_; }

  /// Null when memory is gone.
  [[nodiscard]] std::unique_ptr<TlsSession> accept(int fd);

 private:
  explicit TlsServer(TlsServerSettings settings);

  TlsServerSettings settings_;
  std::vector<unsigned char> protocol_list_;
  TicketKeys tickets_;
  base::Instant tickets_due_ = base::kNever;  ///< kNever: not ticked yet.
  std::mutex mutex_;                          // off the request path: one lock a handshake
  std::unique_ptr<SSL_CTX, TlsFree> context_;
};

struct TlsClientSettings {
  std::string host;                ///< What the certificate must name: a DNS name or an address.
  std::string ca_file{};           ///< PEM; empty: the system's store.
  std::string certificate_file{};  ///< Ours, when the peer asks; with key_file.
  std::string key_file{};
  bool verify = true;  ///< False only in tools: anyone may answer.

  friend bool operator==(const TlsClientSettings&, const TlsClientSettings&) = default;
};

/// The client's side for one name. Sessions for resumption are kept here (at most 16), so one of
/// another name is never offered. Any thread.
class TlsClient : public std::enable_shared_from_this<TlsClient> {
 public:
  static constexpr size_t kSessions = 16;

  [[nodiscard]] static base::Result<std::shared_ptr<TlsClient>, std::string> make(
      TlsClientSettings settings);

  [[nodiscard]] const TlsClientSettings& settings() const { return settings_; }

  [[nodiscard]] std::unique_ptr<TlsSession> connect(int fd);

 private:
  explicit TlsClient(TlsClientSettings settings);
  static int keep(SSL* session, SSL_SESSION* ticket);

  TlsClientSettings settings_;
  std::unique_ptr<SSL_CTX, TlsFree> context_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<SSL_SESSION, TlsFree>> sessions_;
};

}  // namespace spillway::net
