#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "app/config/plan.h"
#include "app/exchange/deployment.h"
#include "app/exchange/endpoint_use.h"
#include "app/exchange/stats.h"
#include "app/exchange/transport.h"
#include "app/exchange/worker.h"
#include "app/exchange/worker_hosts.h"
#include "app/exchange/worker_parts.h"
#include "base/time.h"
#include "exchange/snapshot.h"

namespace spillway::app {
namespace {

constexpr base::Duration kPublish = std::chrono::milliseconds(250);

}  // namespace

void Worker::deploy(Deployment deployment) {
  reactor_.post(
      [this, deployment = std::move(deployment)]() mutable { take_on(std::move(deployment)); });
}

void Worker::take_on(Deployment deployment) {
  auto route = std::make_shared<Route>();
  deployment_ = deployment.number;
  route->config = std::move(deployment.config);
  const auto& dsps = route->snapshot().dsps;
  route->targets.resize(dsps.size());
  for (size_t i = 0; i < dsps.size(); ++i) {
    for (size_t j = 0; j < dsps[i].endpoints.size(); ++j) {
      const auto& endpoint = dsps[i].endpoints[j];
      auto& target = targets_[endpoint.guard_key];
      const bool fresh = target == nullptr;
      if (fresh) {
        target = std::make_unique<Target>();
        target->key = endpoint.guard_key;
        target->hosts = std::make_shared<WorkerHosts>(hosts_, *deployment.slots[i][j].hosts, index_,
                                                      rng_.next());
      }
      target->guard = deployment.slots[i][j].guard;
      target->stats = deployment.slots[i][j].stats;
      target->headers = ask_headers(dsps[i]);
      auto settings = target_settings(dsps[i], endpoint);
      settings.tls = deployment.slots[i][j].tls;
      settings.hosts = target->hosts;
      if (fresh) {
        target->id = client_.add_target(std::move(settings));
      } else {
        client_.change_target(target->id, std::move(settings));
      }
      route->targets[i].push_back(target.get());
    }
  }
  if (route_ != nullptr) {
    old_routes_.push_back(route_);
  }
  route_ = std::move(route);
  gate_.set(route_->config->shedding, route_->snapshot().accounts);
  refusals_.set(route_->config->shedding.brake);
  drop_unused_targets();
  publish(reactor_.now());
}

net::TargetSettings Worker::target_settings(const exchange::DspConfig& dsp,
                                            const exchange::Endpoint& endpoint) const {
  return {.name = endpoint.guard_key,
          .host = endpoint.host,
          .port = endpoint.port,
          .addresses = endpoint.addresses,
          .gzip = dsp.gzip,
          .max_connections = connections_of_worker(dsp.max_connections, workers_, index_),
          .max_handshakes = connections_of_worker(dsp.max_handshakes, workers_, index_),
          .answer_bytes = dsp.answer_bytes,
          .idle_timeout = dsp.idle_timeout};
}

// A target goes when no configuration in use names it and no call of it is open.
void Worker::drop_unused_targets() {
  std::erase_if(old_routes_, [](const auto& route) { return route.expired(); });
  retiring_ = !old_routes_.empty();
  if (retiring_) {
    return;  // a flight may still ask under an old configuration
  }
  const auto in_use = [this](const Target* target) {
    return std::ranges::any_of(route_->targets, [target](const auto& endpoints) {
      return std::ranges::find(endpoints, target) != endpoints.end();
    });
  };
  const size_t dropped = std::erase_if(targets_, [&](const auto& entry) {
    const Target& target = *entry.second;
    if (in_use(&target)) {
      return false;
    }
    if (target.calls_open > 0) {
      retiring_ = true;
      return false;
    }
    client_.remove_target(target.id);
    target.hosts->leave();
    return true;
  });
  if (dropped > 0 || told_ != deployment_) {
    tell_held();
  }
}

/// After whatever the targets dropped have posted of themselves.
void Worker::tell_held() {
  std::set<std::string> keys;
  for (const auto& [key, target] : targets_) {
    keys.insert(key);
  }
  told_ = deployment_;
  use_.post_held(index_, deployment_, std::move(keys));
}

void Worker::publish(base::Instant now) {
  stats_.turns.add();
  for (const auto& [key, target] : targets_) {
    const auto& c = client_.counters(target->id);
    const auto pool = client_.pool(target->id);
    const std::array counted{
        &c.calls,          &c.connects,    &c.reused,     &c.stale_retries, &c.handshakes_failed,
        &c.no_connection,  &c.idle_closed, &c.poisoned,   &c.tails_drained, &c.tails_cut,
        &c.tls_handshakes, &c.tls_resumed, &c.tls_failed, &c.no_descriptor, &c.requests_sent};
    static_assert(counted.size() == kClientCounters.size());
    for (size_t i = 0; i < counted.size(); ++i) {
      target->stats->client[i].set(counted[i]->value());
    }
    const std::array held{pool.idle, pool.busy, pool.connecting, pool.draining};
    for (size_t i = 0; i < held.size(); ++i) {
      target->stats->client_now[i].set(held[i]);
    }
    target->stats->network_cost_us.set(static_cast<uint64_t>(target->network_cost.count() / 1000));
  }
  reactor_.timers().arm(publisher_, now + kPublish);
}

}  // namespace spillway::app
