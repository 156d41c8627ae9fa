#include "balance/fleet.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "balance/farm.h"
#include "balance/haproxy.h"
#include "balance/load.h"
#include "balance/record.h"

namespace spillway::balance {

Fleet::Fleet(const std::vector<BackendPlan>& plans, const AgentOptions& options)
    : front_("front", 0, Backend::kPeriod) {
  remove_stale_groups();
  error_ = missing_here();
  if (!error_.empty()) {
    return;
  }
  farm_ = start_farm(plans, error_);
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
  for (size_t zone = 0; zone < zones_.size() && error_.empty(); ++zone) {
    Haproxy::Settings settings;
    for (const size_t i : members(zone)) {
      settings.servers.push_back({.name = farm_[i]->plan().name,
                                  .port = farm_[i]->port(),
                                  .agent_port = agents_->port(i)});
    }
    proxies_.push_back(std::make_unique<Haproxy>(folder_.path(), "haproxy-" + zones_[zone],
                                                 std::move(settings), front_));
    error_ = proxies_.back()->error();
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

Record Fleet::watch(double duration_s, std::vector<Act> acts) const {
  std::vector<const Haproxy*> proxies;
  for (const auto& proxy : proxies_) {
    proxies.push_back(proxy.get());
  }
  return balance::watch(farm_, proxies, duration_s, std::move(acts));
}

}  // namespace spillway::balance
