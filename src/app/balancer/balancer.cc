#include "app/balancer/balancer.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>

#include "adapters/registry.h"
#include "adapters/registry_http.h"
#include "adapters/registry_redis.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/haproxy_watch.h"
#include "app/balancer/picture.h"
#include "app/config/url.h"
#include "app/serving/listeners.h"
#include "base/result.h"
#include "base/time.h"
#include "net/http.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/tls.h"
#include "observe/admin.h"
#include "observe/log.h"

namespace spillway::app::balancing {

namespace {

using observe::Level;

/// How long --once waits for the registry beyond what a set needs to be believed.
constexpr base::Duration kOncePatience = std::chrono::seconds(10);

}  // namespace

base::Result<std::unique_ptr<adapters::Registry>, std::string> open_registry(
    net::Reactor& reactor, const RegistryConfig& config) {
  switch (config.kind) {
    case RegistryKind::kNone:
      return nullptr;
    case RegistryKind::kStatic:
      return adapters::static_registry(reactor, config.instances);
    case RegistryKind::kRedis: {
      std::random_device device;
      return adapters::redis_registry(reactor, config.redis, config.settings, device());
    }
    case RegistryKind::kConsul:
    case RegistryKind::kEtcd:
      break;
  }
  const auto url = parse_http_url(config.url);
  if (!url) {
    return std::unexpected("registry.url: " + url.error());
  }
  adapters::RegistryHttpSettings http{.host = url->host, .port = url->port, .token = config.token};
  if (url->tls) {
    auto tls = net::TlsClient::make({.host = url->host, .ca_file = config.ca_file});
    if (!tls) {
      return std::unexpected("registry.ca_file: " + tls.error());
    }
    http.tls = std::move(*tls);
  }
  return config.kind == RegistryKind::kConsul
             ? adapters::consul_registry(reactor, http, config.settings)
             : adapters::etcd_registry(reactor, http, config.settings);
}

Balancer::Balancer(BalancerConfig config, RunOptions options)
    : config_(std::move(config)),
      options_(std::move(options)),
      reactor_(clock_),
      signals_(std::make_unique<net::SignalSource>(
          reactor_, std::initializer_list<int>{SIGTERM, SIGINT, SIGHUP},
          [this](int number) {
            if (number != SIGHUP) {
              reactor_.stop();
            } else if (options_.read) {
              (void)reload();
            }
          })),
      log_(config_.log_level) {
  auto registry = open_registry(reactor_, config_.registry);
  if (!registry) {
    error_ = std::move(registry.error());
    return;
  }
  registry_ = std::move(*registry);
  fleet_.reconciles = registry_ != nullptr;
  for (const HaproxyPlace& place : config_.haproxies) {
    watches_.push_back(
        std::make_unique<HaproxyWatch>(reactor_, place, config_, fleet_, log_, options_.applies));
  }
  if (options_.once) {
    return;
  }
  std::vector<net::Server::Worker> workers;
  workers.push_back(
      {.reactor = reactor_, .handler = [this](const net::Request& request, net::Reply reply) {
         answer(request, std::move(reply));
       }});
  constexpr size_t kAdminConnections = 100;
  net::ServerLimits limits;
  limits.connections = kAdminConnections;
  admin_ = std::make_unique<net::Server>(config_.admin_listen, limits, std::move(workers));
  error_ = admin_->error();
}

Balancer::~Balancer() = default;

bool Balancer::run(const std::function<void(const std::string& admin)>& started) {
  std::string admin;
  if (admin_ != nullptr) {
    admin_->start();
    admin = at_port(config_.admin_listen, admin_->port());
  }
  started(admin);
  log_.event(Level::kInfo, "event=started backend={} haproxies={} registry={} applies={}",
             config_.backend, watches_.size(), registry_ ? registry_->kind() : "none",
             options_.applies);
  if (options_.once) {
    give_up_at_ = clock_.now() + config_.registry.settings.confirm_after + kOncePatience;
  }
  reactor_.timers().arm(*this, clock_.now());
  reactor_.run();
  log_.event(Level::kInfo, "event=stopped");
  return ok_;
}

void Balancer::on_timer(base::Instant now) {
  if (options_.once && now >= give_up_at_) {
    log_.event(Level::kError, "event=given_up reason=\"the registry was not read: {}\"",
               registry_ ? registry_->last_error() : "");
    end_once(false);
    return;
  }
  // By the clock, not by the last round's end: the period is what restoring is promised in.
  const base::Instant next = due() + config_.interval;
  reactor_.timers().arm(*this, std::max(next, now));
  begin_rounds();
}

void Balancer::begin_rounds() {
  if (under_way_ > 0) {
    for (auto& watch : watches_) {  // those that are still busy count it
      if (watch->round([this](bool ok) { on_round(ok); })) {
        ++under_way_;
      }
    }
    return;
  }
  all_ok_ = true;
  reconciled_ = !fleet_.reconciles || fleet_.known;
  under_way_ = watches_.size();
  for (auto& watch : watches_) {
    watch->round([this](bool ok) { on_round(ok); });
  }
}

void Balancer::on_round(bool ok) {
  all_ok_ = all_ok_ && ok;
  if (--under_way_ == 0) {
    after_rounds();
  }
}

void Balancer::after_rounds() {
  if (next_ != nullptr) {
    reactor_.defer([this] { take_next(); });
  }
  compare_weights();
  begin_watching();
  if (options_.once && reconciled_) {
    end_once(all_ok_);
  } else if (options_.once && !all_ok_) {
    end_once(false);
  }
}

// What is in place is judged before the first set: an empty one must not clear it.
void Balancer::begin_watching() {
  if (registry_ == nullptr || watching_) {
    return;
  }
  size_t servers = 0;
  bool any = false;
  for (const auto& watch : watches_) {
    const Picture* picture = watch->picture();
    if (picture == nullptr) {
      continue;
    }
    any = true;
    const auto serving = std::ranges::count_if(
        picture->servers, [](const auto& one) { return !one.second.in_forced_maint(); });
    servers = std::max(servers, static_cast<size_t>(serving));
  }
  if (any) {
    watching_ = true;
    registry_->expect(servers);
    registry_->watch(*this);
  }
}

void Balancer::end_once(bool ok) {
  ok_ = ok;
  cancel();
  reactor_.stop();
}

void Balancer::on_registry(const adapters::RegistryView& view) {
  fleet_.known = true;
  fleet_.members = view.instances;
  log_.event(Level::kInfo, "event=members count={} index={}", fleet_.members.size(), view.index);
  reactor_.timers().arm(*this, reactor_.now());  // now, and from now on each period
}

/// Servers whose weight is another on another HAProxy for three rounds: one of them does not hear
/// the agent.
void Balancer::compare_weights() {
  struct Range {
    uint32_t low = UINT32_MAX;
    uint32_t high = 0;
  };

  std::map<std::string, Range> ranges;
  for (const auto& watch : watches_) {
    if (const Picture* picture = watch->picture()) {
      for (const auto& [name, server] : picture->servers) {
        Range& range = ranges[name];
        range.low = std::min(range.low, server.state.user_weight);
        range.high = std::max(range.high, server.state.user_weight);
      }
    }
  }
  std::map<std::string, uint32_t> differing;
  differ_now_ = 0;
  for (const auto& [name, range] : ranges) {
    constexpr uint32_t kDither = 2;  // agents vary a weight by a step a tick
    constexpr uint32_t kShare = 20;
    if (range.high - range.low > kDither + range.high / kShare) {
      constexpr uint32_t kRounds = 3;
      const auto before = differing_.find(name);
      const uint32_t rounds = (before == differing_.end() ? 0 : before->second) + 1;
      differing[name] = rounds;
      differ_now_ += rounds >= kRounds ? 1 : 0;
    }
  }
  differing_ = std::move(differing);
  fleet_.weights_differ = differ_now_ > 0;
}

bool Balancer::ready() const {
  return (!fleet_.reconciles || fleet_.known) &&
         std::ranges::all_of(watches_, [](const auto& one) { return one->picture() != nullptr; });
}

void Balancer::answer(const net::Request& request, net::Reply reply) {
  if (request.path() == "/status") {
    if (request.method == "GET" || request.method == "HEAD") {
      reply.send({.content_type = "application/json", .body = status_json()});
    } else {
      reply.send({.status = 405,
                  .content_type = "text/plain; charset=utf-8",
                  .headers = {{"Allow", "GET, HEAD"}},
                  .body = "method: must be GET, HEAD\n"});
    }
    return;
  }
  const auto reloads = options_.read ? std::function<std::string()>([this] { return reload(); })
                                     : std::function<std::string()>();
  const observe::AdminHooks hooks{.metrics = [this] { return metrics_text(); },
                                  .ready = [this] { return ready(); },
                                  .circuits = {},
                                  .set_mode = {},
                                  .reload = reloads,
                                  .other_pages = "/status"};
  observe::answer_admin(hooks, request, std::move(reply));
}

}  // namespace spillway::app::balancing
