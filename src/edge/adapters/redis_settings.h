#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/tls.h"
#include "resilience/hedge.h"
#include "resilience/problem.h"
#include "resilience/settings.h"

namespace spillway::adapters {

/// Where one Redis is and how it is asked. Addresses are "host:port" or "[v6]:port".
struct RedisSettings {
  /// The primary, when no sentinel is asked.
  std::string primary{};
  /// Read from these too; with sentinels they are found.
  std::vector<std::string> replicas{};

  /// Ask these where the primary is; replaces `primary` and `replicas`.
  std::vector<std::string> sentinels{};
  std::string sentinel_name{};  ///< The name that the sentinels watch it by.
  std::string sentinel_password{};

  std::string user{};  ///< Empty: the default user.
  std::string password{};
  uint32_t database = 0;  ///< [0, 1 000 000].

  /// Present: connections to servers and sentinels are secure; `host` is what certificates must
  /// name, whatever the address; empty: the host of the address.
  std::optional<net::TlsClientSettings> tls{};

  /// From the first SYN to the answer of the handshake. Larger: a dead address is found later. [10
  /// ms, 30 s].
  base::Duration connect_timeout = std::chrono::seconds(1);
  /// A connection whose oldest command has had no answer for so long is replaced. Larger: a frozen
  /// server holds its connection longer. [50 ms, 60 s].
  base::Duration stall_after = std::chrono::seconds(1);
  /// Between attempts to connect: doubling, times U[0.8, 1.2]. Larger: gentler after an outage,
  /// later back. [10 ms, 60 s].
  base::Duration reconnect_min = std::chrono::milliseconds(50);
  base::Duration reconnect_max = std::chrono::seconds(2);
  /// Sentinels are asked anew so often, and at once when something fails. [100 ms, 1 h].
  base::Duration refresh = std::chrono::seconds(5);

  /// Commands waiting or unanswered, of one worker and connection. Larger: more memory while the
  /// server is slow. [16, 1 000 000].
  uint32_t max_commands = 4096;
  /// Bytes of commands not yet sent, of one worker and connection. [1 KiB, 1 GiB].
  uint64_t max_bytes = uint64_t{8} << 20;
  /// A larger reply ends its connection. [1 KiB, 1 GiB].
  uint64_t max_reply_bytes = uint64_t{16} << 20;

  /// Second asks of slow reads. The reserve is 0: they are never more than 5 % of the calls.
  resilience::HedgeSettings hedge{.budget = {.share = 0.05, .reserve_per_s = 0},
                                  .floor = std::chrono::milliseconds(8)};
};

/// Every broken rule; empty when sound.
[[nodiscard]] std::vector<resilience::Problem> validate(const RedisSettings& settings);

/// What a guard of a store is set to unless told otherwise: slow from 5 ms, and at fault when it is
/// silent for the time it was given, if that was 5 ms or more; opens within a second or two, asks
/// again soon and ramps up within 10 s.
[[nodiscard]] resilience::Settings redis_guard_settings();

}  // namespace spillway::adapters
