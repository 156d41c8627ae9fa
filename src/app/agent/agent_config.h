#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/cpu_reader.h"
#include "adapters/load_poller.h"
#include "adapters/peer_exchange.h"
#include "adapters/redis_settings.h"
#include "adapters/registry.h"
#include "adapters/registry_http.h"
#include "adapters/spot_watch.h"
#include "app/agent/departure.h"
#include "app/config/reader.h"
#include "app/config/server_config.h"
#include "base/time.h"
#include "capacity/law_settings.h"
#include "capacity/zone_view.h"

namespace spillway::app::agent {

enum class RegistryKind : uint8_t { kNone, kRedis, kConsul, kEtcd };

/// Where this server is announced, and who its peers should be.
struct RegistryConfig {
  RegistryKind kind = RegistryKind::kNone;
  std::string host;  ///< This server as HAProxy reaches it: an address.
  uint32_t port = 0;
  adapters::RegistryHttpSettings http;  ///< Of Consul and etcd.
  adapters::RegistrySettings settings;
  bool watch = true;  ///< Only its members' samples count.
};

/// What to do when EC2 recommends to leave.
enum class OnRebalance : uint8_t { kNothing, kDrain };

struct SpotConfig {
  bool enabled = false;
  adapters::SpotSettings settings;
  OnRebalance on_rebalance = OnRebalance::kNothing;
};

struct EmfConfig {
  std::string file;  ///< "-": standard output; empty: none.
  std::string name_space = "Spillway";
  base::Duration interval = std::chrono::minutes(1);
};

/// One configuration of `spillway agent`: docs/agent.md has every key.
struct AgentConfig {
  std::string id;  ///< Never empty once read: the host's name.
  std::string service = "spillway";
  std::string zone = "default";
  std::string server_class = "default";
  bool class_by_cores = true;  ///< The class is told apart by what the server may use, too.
  std::string listen = "127.0.0.1:9100";  ///< Of HAProxy's agent-check.
  uint32_t max_connections = 256;
  bool absolute_weight = false;
  bool dry_run = false;
  std::string orders_file;
  std::string state_file;
  std::string record_file;
  uint64_t record_bytes = uint64_t{64} << 20;
  std::string key;  ///< Samples are signed with it.
  LogLevel log_level = LogLevel::kInfo;
  std::string admin_listen = "127.0.0.1:9921";
  bool admin_allow_remote = false;

  capacity::LawSettings law;
  capacity::ZoneViewSettings view;
  adapters::CpuSettings cpu;
  std::optional<adapters::LoadSettings> load;
  std::optional<adapters::LoadSettings> ready;  ///< The warm-up gate: 200 once.
  DepartureSettings drain;
  std::optional<adapters::PeerSettings> peers;
  std::optional<adapters::RedisSettings> redis;
  bool redis_samples = true;
  RegistryConfig registry;
  SpotConfig spot;
  EmfConfig emf;
};

/// Reads `text`; everything wrong is appended to `problems`, and the result may be used only when
/// there is nothing. `asked`: see ConfigReader::record_asked.
[[nodiscard]] AgentConfig read_agent_config(std::string_view text,
                                            std::vector<ConfigProblem>& problems,
                                            std::vector<AskedKey>* asked = nullptr);

}  // namespace spillway::app::agent
