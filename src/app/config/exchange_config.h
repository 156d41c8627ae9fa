#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/currency_config.h"
#include "app/config/notice_config.h"
#include "app/config/reader.h"
#include "base/time.h"
#include "exchange/snapshot.h"
#include "net/http2_settings.h"
#include "net/server.h"
#include "net/tls.h"
#include "resilience/refusal_brake.h"
#include "resilience/shedder.h"

namespace spillway::app {

/// When a worker stops taking on whole auctions. Each worker judges itself.
struct Shedding {
  /// Level 1 answers after the walk, with the account's shed fallback; level 2 before it, with a
  /// canned no-bid, when no class of account is better off. level2.in_flight is also the most
  /// auctions a worker keeps memory for.
  resilience::ShedSettings queue;
  uint64_t level_2_bytes = 192 << 20;  ///< Buffered request and answer bytes of a worker.
  resilience::BrakeSettings brake;     ///< Reading pauses when refusing costs too much.
};

/// The auction log.
struct RecorderSettings {
  std::string path;           ///< Empty: nothing is recorded.
  double sample_ratio = 1.0;  ///< Share of the auctions.
  uint32_t queue = 1'024;  ///< Records waiting for the writer, a worker; beyond: dropped, counted.
};

/// What an operator expects of a DSP, for the connection plan alone.
struct ExpectedTraffic {
  uint32_t qps = 0;  ///< 0: not said.
  base::Duration latency = std::chrono::milliseconds(80);
};

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError };

/// One whole configuration of `spillway exchange`: docs/configuration.md has every key.
struct ExchangeConfig {
  std::string listen = "127.0.0.1:8080";
  std::string admin_listen = "127.0.0.1:9901";
  bool admin_allow_remote = false;
  uint32_t workers = 0;  ///< Never 0 once read: as many as there are processors.
  LogLevel log_level = LogLevel::kInfo;
  /// How long SIGTERM goes on serving, not ready any more and with `Connection: close`, before the
  /// listener closes. Larger: load balancers have more time to notice, a stop takes longer.
  base::Duration drain_announce{};
  base::Duration stop_timeout = std::chrono::seconds(5);  ///< From there on, for what is left.
  net::TlsServerSettings tls{};  ///< Of the auctions' listener; no certificate: plain.
  /// Networks of our own load balancers. With proxy_protocol every connection comes from one and
  /// begins with a PROXY header; without, their X-Forwarded-For is believed.
  std::vector<std::string> trusted_proxies;
  bool proxy_protocol = false;
  net::Http2Settings http2{.enabled = true};  ///< Beside HTTP/1.1, on the auctions' listener.
  net::ServerLimits limits{.connections = 10'000};
  Shedding shedding;
  RecorderSettings recorder;
  NoticeConfig notices;
  RateFeed rates;
  std::vector<ExpectedTraffic> expected;  ///< Beside snapshot.dsps.
  exchange::Snapshot snapshot;
};

/// Reads `text`; everything wrong is appended to `problems`, and the result may be used only when
/// there is nothing. `asked`, when given, collects every key read
/// (ConfigReader::record_asked).
[[nodiscard]] ExchangeConfig read_exchange_config(std::string_view text,
                                                  std::vector<ConfigProblem>& problems,
                                                  std::vector<AskedKey>* asked = nullptr);

}  // namespace spillway::app
