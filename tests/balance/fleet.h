#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "balance/agents.h"
#include "balance/companions.h"
#include "balance/control_group.h"
#include "balance/farm.h"
#include "balance/haproxy.h"
#include "balance/load.h"
#include "balance/record.h"

namespace spillway::balance {

/// What stands beside agents and proxies.
struct Companions {
  bool balancer = false;  ///< A `spillway balancer`, for its watchdog at least.
  /// Redis holds members and samples, the balancer makes HAProxy's servers of them. One zone only.
  bool registry = false;
};

/// A farm, its agents and, for each zone, a HAProxy in front; everything ends and is removed with
/// it. One thread.
class Fleet {
 public:
  Fleet(const std::vector<BackendPlan>& plans, AgentOptions options, Companions companions = {});

  /// Empty when all runs.
  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] Farm& farm() { return farm_; }

  [[nodiscard]] Agents& agents() { return *agents_; }

  /// In order of their first back end.
  [[nodiscard]] const std::vector<std::string>& zones() const { return zones_; }

  [[nodiscard]] Haproxy& proxy(size_t zone = 0) { return *proxies_[zone]; }

  /// With a registry only.
  [[nodiscard]] RedisProcess& redis() { return *redis_; }

  /// Where there is one.
  [[nodiscard]] const BalancerProcess& balancer() const { return *balancer_; }

  /// The back ends of a zone.
  [[nodiscard]] std::vector<size_t> members(size_t zone) const;

  [[nodiscard]] Load load(double rate_per_s, std::chrono::seconds duration, size_t zone = 0);

  [[nodiscard]] Record watch(double duration_s, std::vector<Act> acts = {}) const;

 private:
  void start_proxies(bool with_servers);
  void start_balancer();
  void wait_for_members(size_t count);
  [[nodiscard]] double used_by_others_s() const;

  TemporaryFolder folder_;
  std::string error_;
  ControlGroup front_;  ///< Of proxies, agents and load.
  std::unique_ptr<RedisProcess> redis_;
  Farm farm_;
  std::unique_ptr<Agents> agents_;
  std::vector<std::string> zones_;
  std::vector<std::unique_ptr<Haproxy>> proxies_;
  std::unique_ptr<BalancerProcess> balancer_;
  size_t loads_ = 0;
};

}  // namespace spillway::balance
