#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/redis_settings.h"
#include "adapters/registry.h"
#include "app/balancer/effect.h"
#include "app/balancer/membership.h"
#include "app/balancer/watchdog.h"
#include "app/config/reader.h"
#include "base/time.h"
#include "observe/log.h"

namespace spillway::app::balancing {

/// Where a HAProxy's Runtime API is.
struct HaproxyPlace {
  std::string name;
  std::string socket;        ///< "/run/haproxy.sock", or ADDRESS:PORT.
  std::string state_file{};  ///< What it loads its servers' state from; empty: not kept.

  friend bool operator==(const HaproxyPlace&, const HaproxyPlace&) = default;
};

enum class RegistryKind : uint8_t {
  kNone,  ///< Servers come from HAProxy's own configuration or DNS: watchdog and effect only.
  kStatic,
  kRedis,
  kConsul,
  kEtcd,
};

struct RegistryConfig {
  RegistryKind kind = RegistryKind::kNone;
  std::string url;    ///< Of Consul or etcd.
  std::string token;  ///< Of Consul or etcd.
  std::string ca_file;
  adapters::RegistrySettings settings;
  adapters::RedisSettings redis;
  std::vector<adapters::RegistryInstance> instances;  ///< kStatic.
};

/// One configuration of `spillway balancer`: docs/balancer.md has every key.
struct BalancerConfig {
  std::string backend;
  std::string zone;  ///< Instances of this zone only; empty: of all.
  base::Duration interval = std::chrono::seconds(1);
  base::Duration command_timeout = std::chrono::seconds(2);
  observe::Level log_level = observe::Level::kInfo;
  std::string admin_listen = "127.0.0.1:9931";
  bool admin_allow_remote = false;
  MembershipSettings membership;
  WatchdogSettings watchdog;
  EffectSettings effect;
  std::vector<HaproxyPlace> haproxies;
  RegistryConfig registry;
};

/// Reads `text`; everything wrong is appended to `problems`, and the result may be used only when
/// there is nothing. `asked`: for the test of docs/balancer.md.
[[nodiscard]] BalancerConfig read_balancer_config(std::string_view text,
                                                  std::vector<ConfigProblem>& problems,
                                                  std::vector<AskedKey>* asked = nullptr);

}  // namespace spillway::app::balancing
