#include "balance/fleet.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "balance/agents.h"
#include "balance/companions.h"
#include "balance/control_group.h"
#include "balance/farm.h"
#include "balance/haproxy.h"
#include "balance/load.h"
#include "balance/record.h"

namespace spillway::balance {

Fleet::Fleet(const std::vector<BackendPlan>& plans, AgentOptions options, Companions companions)
    : front_("front", 0, Backend::kPeriod) {
  remove_stale_groups();
  error_ = missing_here();
  if (!error_.empty()) {
    return;
  }
  if (companions.registry) {
    redis_ = std::make_unique<RedisProcess>();
    error_ = redis_->error();
    options.redis_port = redis_->port();
  }
  if (error_.empty()) {
    farm_ = start_farm(plans, error_);
  }
  if (!error_.empty()) {
    return;
  }
  agents_ = std::make_unique<Agents>(farm_, options, folder_.path(), front_);
  error_ = agents_->error();
  for (const BackendPlan& plan : plans) {
    if (std::ranges::find(zones_, plan.zone) == zones_.end()) {
      zones_.push_back(plan.zone);
    }
  }
  if (error_.empty()) {
    start_proxies(!companions.registry);
  }
  if (error_.empty() && (companions.balancer || companions.registry)) {
    start_balancer();
  }
  if (error_.empty() && companions.registry) {
    wait_for_members(plans.size() - options.absent);
  }
}

void Fleet::start_proxies(bool with_servers) {
  for (size_t zone = 0; zone < zones_.size() && error_.empty(); ++zone) {
    Haproxy::Settings settings;
    for (const size_t i : members(zone)) {
      if (with_servers) {
        settings.servers.push_back({.name = farm_[i]->plan().name,
                                    .port = farm_[i]->port(),
                                    .agent_port = agents_->port(i)});
      }
    }
    proxies_.push_back(std::make_unique<Haproxy>(folder_.path(), "haproxy-" + zones_[zone],
                                                 std::move(settings), front_));
    error_ = proxies_.back()->error();
  }
}

void Fleet::start_balancer() {
  BalancerProcess::Settings settings;
  for (size_t zone = 0; zone < zones_.size(); ++zone) {
    settings.haproxies.emplace_back(zones_[zone], proxies_[zone]->socket_path().string());
  }
  settings.redis_port = redis_ ? redis_->port() : uint16_t{0};
  balancer_ = std::make_unique<BalancerProcess>(folder_.path(), settings, front_);
  error_ = balancer_->error();
}

void Fleet::wait_for_members(size_t count) {
  size_t up = 0;
  for (int i = 0; i < 200 && up < count; ++i) {
    ::poll(nullptr, 0, 50);
    const auto servers = proxies_[0]->statistics();
    up = static_cast<size_t>(std::ranges::count_if(
        servers, [](const auto& server) { return server.status.starts_with("UP"); }));
  }
  if (up < count) {
    error_ = fmt::format("the balancer brought {} of {} servers into HAProxy", up, count);
  }
}

std::vector<size_t> Fleet::members(size_t zone) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < farm_.size(); ++i) {
    if (farm_[i]->plan().zone == zones_[zone]) {
      found.push_back(i);
    }
  }
  return found;
}

Load Fleet::load(double rate_per_s, std::chrono::seconds duration, size_t zone) {
  Load load(folder_.path() / fmt::format("load-{}.json", ++loads_),
            {.port = proxies_[zone]->port(), .rate_per_s = rate_per_s, .duration = duration});
  (void)front_.take_in(load.pid());
  return load;
}

double Fleet::used_by_others_s() const {
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  double busy = 0;
  double ticks = 0;
  // user nice system idle iowait irq softirq steal
  for (int field = 0; field < 8 && stat >> ticks; ++field) {
    busy += field == 3 || field == 4 || field == 7 ? 0 : ticks;
  }
  double ours_s = std::chrono::duration<double>(front_.used()).count();
  for (const auto& backend : farm_) {
    ours_s += std::chrono::duration<double>(backend->group().used()).count();
  }
  return busy / static_cast<double>(::sysconf(_SC_CLK_TCK)) - ours_s;
}

Record Fleet::watch(double duration_s, std::vector<Act> acts) const {
  std::vector<const Haproxy*> proxies;
  proxies.reserve(proxies_.size());
  for (const auto& proxy : proxies_) {
    proxies.push_back(proxy.get());
  }
  const double before_s = used_by_others_s();
  Record record = balance::watch(farm_, proxies, duration_s, std::move(acts));
  record.others_cores = (used_by_others_s() - before_s) / record.readings.back().at_s;
  return record;
}

}  // namespace spillway::balance
