#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/reader.h"
#include "base/time.h"
#include "net/http2_settings.h"
#include "net/server.h"
#include "net/tls.h"
#include "resilience/refusal_brake.h"
#include "resilience/shedder.h"

namespace spillway::app {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError };

/// When a worker stops taking on whole requests. Each worker judges itself.
struct Shedding {
  /// Level 1 answers after the walk, with the account's shed fallback; level 2 before it, with a
  /// canned no-bid, when no class of account is better off. level2.in_flight is also the most
  /// auctions a worker keeps memory for.
  resilience::ShedSettings queue;
  uint64_t level_2_bytes = 192 << 20;  ///< Buffered request and answer bytes of a worker.
  resilience::BrakeSettings brake;     ///< Reading pauses when refusing costs too much.
};

/// What every server of ours has alike: its listeners, its threads and its end.
struct ServerConfig {
  std::string listen = "127.0.0.1:8080";
  std::string admin_listen = "127.0.0.1:9901";
  bool admin_allow_remote = false;
  uint32_t workers = 0;  ///< Never 0 once read: as many as there are processors.
  LogLevel log_level = LogLevel::kInfo;
  /// How long SIGTERM goes on serving, not ready any more and with `Connection: close`, before the
  /// listener closes. Larger: load balancers have more time to notice, a stop takes longer.
  base::Duration drain_announce{};
  base::Duration stop_timeout = std::chrono::seconds(5);  ///< From there on, for what is left.
  net::TlsServerSettings tls{};  ///< Of the callers' listener; no certificate: plain.
  /// Networks of our own load balancers. With proxy_protocol every connection comes from one and
  /// begins with a PROXY header; without, their X-Forwarded-For is believed.
  std::vector<std::string> trusted_proxies;
  bool proxy_protocol = false;
  net::Http2Settings http2{.enabled = true};  ///< Beside HTTP/1.1, on the callers' listener.
  net::ServerLimits limits{.connections = 10'000};
  Shedding shedding;
};

/// The section of a program's callers ("exchange", "bidder") but its keys of its own; the caller
/// finishes `reader`.
void read_server(ConfigReader& reader, ServerConfig& out);

/// What is wrong with an address to listen on, as a sentence; empty: nothing. `loopback_only`: an
/// address that others can reach is refused.
[[nodiscard]] std::string listen_problem(const std::string& address, bool loopback_only);

/// The section `admin`. `section`: the name of the callers'.
void read_admin(ConfigReader reader, std::string_view section, ServerConfig& out);

/// Keys of what is bound to threads and sockets, and differs: a reload cannot change it.
[[nodiscard]] std::vector<std::string> fixed_differences(const ServerConfig& a,
                                                         const ServerConfig& b,
                                                         std::string_view section);

}  // namespace spillway::app
