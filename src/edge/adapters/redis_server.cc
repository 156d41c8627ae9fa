#include "adapters/redis_server.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_connection.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "net/tls.h"
#include "resilience/backoff.h"
#include "resilience/guard.h"

namespace spillway::adapters {

/// Where a look-up's answer goes: nowhere once the server is gone.
struct RedisServer::Mail {
  std::mutex mutex;  ///< Guards `reactor`, which other threads post to.
  net::Reactor* reactor = nullptr;
  RedisServer* server = nullptr;  ///< The reactor's thread only.

  static void deliver(const std::shared_ptr<Mail>& mail, std::vector<net::SocketAddress> found) {
    const std::lock_guard lock(mail->mutex);
    if (mail->reactor == nullptr) {
      return;
    }
    mail->reactor->post([mail, found = std::move(found)] {
      if (mail->server != nullptr) {
        mail->server->resolved(found);
      }
    });
  }
};

std::shared_ptr<net::TlsClient> redis_tls(const RedisSettings& settings, const std::string& host,
                                          bool& failed) {
  if (!settings.tls) {
    return nullptr;
  }
  net::TlsClientSettings own = *settings.tls;
  if (own.host.empty()) {
    own.host = host;
  }
  auto made = net::TlsClient::make(std::move(own));
  failed = !made.has_value();
  return made ? *made : nullptr;
}

base::Duration RedisPatience::next(const RedisSettings& settings, base::Rng& rng) {
  constexpr uint32_t kMost = 16;
  const base::Duration wait =
      std::min(settings.reconnect_min * (int64_t{1} << failures_), settings.reconnect_max);
  failures_ = std::min(failures_ + 1, kMost);
  return resilience::Backoff::spread(wait, rng);
}

RedisServer::RedisServer(RedisParts& parts, const std::string& address, RedisRole role,
                         Owner& owner)
    : parts_(parts),
      address_(address),
      role_(role),
      owner_(owner),
      mail_(std::make_shared<Mail>()) {
  std::string port;
  if (net::split_address(address, host_, port)) {
    std::from_chars(port.data(), port.data() + port.size(), port_);
  }
  tls_ = redis_tls(parts.settings, host_, tls_failed_);
  mail_->reactor = &parts.reactor;
  mail_->server = this;
}

RedisServer::~RedisServer() {
  {
    const std::lock_guard lock(mail_->mutex);
    mail_->reactor = nullptr;
  }
  mail_->server = nullptr;
  if (ready()) {
    parts_.counters.connections.subtract();
  }
}

void RedisServer::start() { parts_.reactor.timers().arm(*this, parts_.reactor.now()); }

void RedisServer::on_timer(base::Instant /*now*/) {
  ended_.reset();
  begun_ = true;
  resolve();
}

void RedisServer::resolve() {
  if (tls_failed_) {
    failed(RedisErrc::kTls, {});
    return;
  }
  const std::vector<net::SocketAddress> literal = net::literal_address(host_, port_);
  if (!literal.empty()) {
    resolved(literal);
    return;
  }
  look_up();
}

void RedisServer::look_up() {
  resolving_ = true;
  parts_.names->look_up(host_, port_, [mail = mail_](std::vector<net::SocketAddress> found) {
    Mail::deliver(mail, std::move(found));
  });
}

void RedisServer::resolved(const std::vector<net::SocketAddress>& addresses) {
  resolving_ = false;
  if (addresses.empty()) {
    failed(RedisErrc::kRefused, {});
    return;
  }
  parts_.counters.connects.add();
  ++generation_;
  RedisConnection::Owner& me = *this;
  connection_ = std::make_unique<RedisConnection>(parts_.reactor, parts_.settings, tls_.get(),
                                                  role_, parts_.counters.late_replies, me);
  if (!connection_->connect(addresses[next_address_++ % addresses.size()])) {
    connection_.reset();
    parts_.counters.connect_failures.add();
    failed(RedisErrc::kRefused, {});
  }
}

void RedisServer::failed(RedisErrc why, const std::vector<uint64_t>& calls) {
  parts_.reactor.timers().arm(*this,
                              parts_.reactor.now() + patience_.next(parts_.settings, parts_.rng));
  owner_.on_server_down(*this, why, calls);
}

void RedisServer::on_ready(RedisConnection& /*connection*/) {
  patience_.reset();
  parts_.counters.connections.add();
  owner_.on_server_ready(*this);
}

void RedisServer::on_reply(RedisConnection& /*connection*/, uint64_t call, RedisReply reply) {
  owner_.on_server_reply(*this, call, reply);
}

void RedisServer::on_end(RedisConnection& connection, RedisErrc why, std::string_view text) {
  if (!text.empty()) {
    parts_.last_error = text;
  }
  RedisCounters& counters = parts_.counters;
  const std::vector<uint64_t> calls = connection.owed();
  if (connection.was_ready()) {
    counters.disconnects.add();
    counters.connections.subtract();
    counters.stalls.add(why == RedisErrc::kTimeout ? 1 : 0);
  } else {
    counters.connect_failures.add();
  }
  ended_ = std::move(connection_);
  failed(why, calls);
}

base::Result<uint64_t, RedisErrc> RedisServer::send(RedisCommand command, uint64_t call) {
  if (!ready()) {
    return std::unexpected(RedisErrc::kRefused);
  }
  return connection_->send(std::move(command), call);
}

bool RedisServer::sent(uint32_t generation, uint64_t serial) const {
  return connection_ == nullptr || generation != generation_ || connection_->sent(serial);
}

void RedisServer::abandon(uint32_t generation, uint64_t serial, resilience::Tail tail) {
  if (connection_ != nullptr && generation == generation_) {
    connection_->abandon(serial, std::move(tail));
  }
}

void RedisServer::flush() {
  if (connection_ != nullptr) {
    connection_->flush();
  }
}

void RedisServer::reconnect(RedisErrc why) {
  if (connection_ != nullptr) {
    connection_->end(why);
  }
}

}  // namespace spillway::adapters
