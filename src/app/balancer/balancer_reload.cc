// Another configuration for a running balancer.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/registry.h"
#include "app/balancer/balancer.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/haproxy_watch.h"
#include "observe/log.h"

namespace spillway::app::balancing {

using observe::Level;

std::string Balancer::reload() {
  std::string problems = try_reload();
  if (!problems.empty()) {
    reloads_refused_.add();
    log_.event(Level::kError, "event=reload_refused reason={}", observe::quoted(problems));
  }
  return problems;
}

// Nothing changes unless all is well, the registry's connection settings included.
std::string Balancer::try_reload() {
  auto config = options_.read();
  if (!config) {
    return std::move(config.error());
  }
  if (config->admin_listen != config_.admin_listen) {
    return "admin.listen: wants a restart";
  }
  if (config->log_level != config_.log_level) {
    return "balancer.log_level: wants a restart";
  }
  auto registry = open_registry(reactor_, config->registry);
  if (!registry) {
    return std::move(registry.error());
  }
  next_ =
      std::make_unique<Next>(Next{.config = std::move(*config), .registry = std::move(*registry)});
  if (under_way_ == 0) {
    reactor_.defer([this] { take_next(); });
  }
  return {};
}

// Between two rounds, and not from inside of what it replaces. Members in force stand until the
// registry as it is now is believed; a HAProxy that stays keeps what is known of its weights.
void Balancer::take_next() {
  if (next_ == nullptr || under_way_ > 0) {
    return;
  }
  const auto next = std::move(next_);
  BalancerConfig& config = next->config;
  const bool same =
      config.backend == config_.backend && config.command_timeout == config_.command_timeout;
  std::vector<std::unique_ptr<HaproxyWatch>> watches;
  for (const HaproxyPlace& place : config.haproxies) {
    const auto old = std::ranges::find_if(watches_, [&](const auto& watch) {
      return watch != nullptr && same && watch->place() == place;
    });
    if (old != watches_.end()) {
      watches.push_back(std::move(*old));
      watches.back()->configure(config);
    } else {
      watches.push_back(
          std::make_unique<HaproxyWatch>(reactor_, place, config, fleet_, log_, options_.applies));
    }
  }
  watches_ = std::move(watches);
  registry_ = std::move(next->registry);
  fleet_.reconciles = registry_ != nullptr;
  fleet_.known = fleet_.known && fleet_.reconciles;
  watching_ = false;
  config_ = std::move(config);
  reloads_.add();
  log_.event(Level::kInfo, "event=reloaded backend={} haproxies={} registry={}", config_.backend,
             watches_.size(), registry_ ? registry_->kind() : "none");
  reactor_.timers().arm(*this, reactor_.now());
}

}  // namespace spillway::app::balancing
