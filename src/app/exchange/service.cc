#include "app/exchange/service.h"

#include <csignal>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>
#include <signal.h>

#include "app/config/exchange_config.h"
#include "app/config/plan.h"
#include "app/exchange/deployment.h"
#include "app/exchange/dsp_hosts.h"
#include "app/exchange/dsp_tls.h"
#include "app/exchange/endpoint_use.h"
#include "app/exchange/load.h"
#include "app/exchange/metrics.h"
#include "app/exchange/stats.h"
#include "app/exchange/worker.h"
#include "app/serving/listeners.h"
#include "app/serving/recent_answers.h"
#include "app/serving/wall_clock.h"
#include "base/time.h"
#include "net/http.h"
#include "net/server.h"
#include "net/signals.h"
#include "net/tls.h"
#include "observe/admin.h"
#include "observe/log.h"
#include "resilience/guard.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kTick = 100ms;

uint64_t random_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

Service::Service(ExchangeConfig config, std::string config_path)
    : config_path_(std::move(config_path)),
      config_(std::make_shared<const ExchangeConfig>(std::move(config))),
      control_(clock_),
      signals_(std::make_unique<net::SignalSource>(
          control_, std::initializer_list<int>{SIGTERM, SIGINT, SIGHUP},
          [this](int number) { on_signal(number); })),
      log_(static_cast<observe::Level>(config_->log_level)),
      recorder_(config_->recorder, config_->workers),
      registry_(config_->workers, random_seed()),
      stats_(config_->workers),
      notices_(control_, config_->notices, random_seed()),
      rates_(control_, random_seed(), [this](const std::string& text) { return take_rates(text); }),
      hosts_(control_, log_, config_->workers, random_seed()),
      use_(control_, config_->workers, [this](const std::string& key) { forget(key); }) {
  if (!recorder_.error().empty()) {
    error_ = recorder_.error();
    return;
  }
  auto tls = load_tls_of_dsps(config_->snapshot, {});
  if (!tls) {
    error_ = tls.error();
    return;
  }
  tls_of_dsps_ = std::move(*tls);
  if (!config_->tls.certificate_file.empty()) {
    auto server_tls = net::TlsServer::make(config_->tls);
    if (!server_tls) {
      error_ = "exchange.tls: " + server_tls.error();
      return;
    }
    tls_ = std::move(*server_tls);
  }
  for (uint32_t i = 0; i < config_->workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(
        i, config_->workers, clock_, random_seed(),
        Worker::Common{.recorder = recorder_, .notices = notices_, .hosts = hosts_, .use = use_}));
  }
  open_listeners();
}

Service::~Service() {
  for (auto& worker : workers_) {
    worker->reactor().stop();
  }
  for (auto& thread : threads_) {
    thread.join();
  }
}

void Service::open_listeners() {
  std::vector<net::Server::Worker> parts;
  parts.reserve(workers_.size());
  for (auto& worker : workers_) {
    parts.push_back({.reactor = worker->reactor(),
                     .handler = [w = worker.get()](const net::Request& request, net::Reply reply) {
                       w->on_request(request, std::move(reply));
                     }});
  }
  net::ServerLimits for_callers = config_->limits;
  for_callers.connections = callers_within(*config_, open_files());
  if (for_callers.connections < config_->limits.connections) {
    log_.event(observe::Level::kWarn,
               "event=connections_reduced key=exchange.limits.connections configured={} taken={} "
               "open_files={}",
               config_->limits.connections, for_callers.connections, open_files());
  }
  server_ = std::make_unique<net::Server>(config_->listen, for_callers, std::move(parts),
                                          listener_settings(*config_, tls_));
  if (!server_->error().empty()) {
    error_ = server_->error();
    return;
  }
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->watch(*server_);
  }
  std::vector<net::Server::Worker> control;
  control.push_back({.reactor = control_,
                     .handler = [all = hooks()](const net::Request& request, net::Reply reply) {
                       observe::answer_admin(all, request, std::move(reply));
                     }});
  net::ServerLimits limits;
  limits.connections = kAdminConnections;
  admin_ = std::make_unique<net::Server>(config_->admin_listen, limits, std::move(control));
  error_ = admin_->error();
}

bool Service::run(
    const std::function<void(const std::string& listen, const std::string& admin)>& started) {
  deploy(config_);
  for (auto& worker : workers_) {
    threads_.emplace_back([w = worker.get()] { w->reactor().run(); });
  }
  server_->start();
  admin_->start();
  ready_ = true;
  supervisor_.ready();
  if (!supervisor_.error().empty()) {
    log_.event(observe::Level::kWarn, "event=supervisor_unreachable reason={}",
               observe::quoted(supervisor_.error()));
  }
  const auto listen = at_port(config_->listen, server_->port());
  const auto admin = at_port(config_->admin_listen, admin_->port());
  started(listen, admin);
  log_.event(observe::Level::kInfo, "event=started listen={} admin={} workers={} dsps={}", listen,
             admin, workers_.size(), config_->snapshot.dsps.size());
  control_.timers().arm(*this, clock_.now() + kTick);
  control_.run();
  for (auto& worker : workers_) {
    worker->reactor().stop();
  }
  for (auto& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  end_stop();
  return clean_;
}

EndpointStats& Service::stats_of(uint32_t worker, const std::string& key) {
  auto& stats = stats_[worker][key];
  if (stats == nullptr) {
    stats = std::make_unique<EndpointStats>();
  }
  return *stats;
}

/// Nobody can call it any more, and nothing configured is called so.
void Service::forget(const std::string& key) {
  for (auto& stats : stats_) {
    stats.erase(key);
  }
  bid_alerts_.forget(key);
  hosts_.forget(key);
  registry_.forget(key);
  log_.event(observe::Level::kInfo, "event=endpoint_forgotten key={}", key);
}

void Service::deploy(std::shared_ptr<const ExchangeConfig> config) {
  recorder_.note_snapshot(config->snapshot.hash, config->snapshot.text);
  const base::Instant now = clock_.now();
  std::set<std::string> keys;
  for (const auto& dsp : config->snapshot.dsps) {
    for (const auto& endpoint : dsp.endpoints) {
      keys.insert(endpoint.guard_key);
    }
  }
  const uint64_t number = use_.begin(std::move(keys));
  for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
    Deployment deployment;
    deployment.number = number;
    deployment.config = config;
    for (const auto& dsp : config->snapshot.dsps) {
      auto& slots = deployment.slots.emplace_back();
      for (const auto& endpoint : dsp.endpoints) {
        auto& guard = registry_.at(endpoint.guard_key, endpoint.guard, now);
        guard.set_settings(endpoint.guard);
        const auto tls = tls_of_dsps_.find(endpoint.guard_key);
        slots.push_back({.guard = &guard,
                         .stats = &stats_of(worker, endpoint.guard_key),
                         .hosts = &hosts_.at(endpoint.guard_key, endpoint.guard, now),
                         .tls = tls == tls_of_dsps_.end() ? nullptr : tls->second.client});
      }
      registry_.set_contract(dsp.name, dsp.qps);
    }
    workers_[worker]->deploy(std::move(deployment));
  }
  notices_.deploy(config->notices);
  rates_.deploy(config->rates);
  config_ = std::move(config);
}

observe::AdminHooks Service::hooks() {
  return {.metrics = [this] { return metrics(); },
          .ready = [this] { return ready_; },
          .load =
              [this] {
                auto load = load_of(workers_, *server_, config_->shedding);
                load.p95 = recent_p95(workers_, clock_.now(), recent_answers_);
                return load;
              },
          .circuits =
              [this] {
                return observe::circuits_json(registry_, [this](std::string_view key) {
                  const auto* hosts = hosts_.find(key);
                  return hosts == nullptr ? std::vector<observe::CircuitHost>{}
                                          : hosts->list(clock_.now());
                });
              },
          .set_mode =
              [this](std::string_view key, resilience::Mode mode, base::Duration lasting,
                     std::string_view why) {
                return circuits_.set_mode(key, clock_.now(), mode, lasting, why);
              },
          .reload = [this] { return reload(); }};
}

double Service::rates_age_s() const {
  const auto& rates = config_->snapshot.rates;
  return rates.empty() ? -1 : static_cast<double>(wall_clock_ms() - rates.as_of_ms()) / 1e3;
}

std::string Service::metrics() {
  MetricSources sources{.registry = registry_,
                        .stats = stats_,
                        .workers = workers_,
                        .server = *server_,
                        .recorder = recorder_,
                        .bid_alerts = bid_alerts_,
                        .notices = notices_,
                        .rates = rates_.fetches(),
                        .rates_age_s = rates_age_s(),
                        .hosts = hosts_,
                        .ticket_rotations = tls_ != nullptr ? tls_->ticket_rotations() : 0,
                        .now = clock_.now(),
                        .log_dropped = log_.dropped(),
                        .reloads = reloads_,
                        .reloads_refused = reloads_refused_};
  return metrics_text(sources);
}

void Service::on_timer(base::Instant now) {
  circuits_.tick(now);
  hosts_.tick(now);
  bid_alerts_.tick(now, stats_, log_);
  complain_of_recorder(now);
  if (tls_ != nullptr) {
    tls_->tick(now);
  }
  life_.tell_of(workers_, now);
  go_on_stopping(now);
  control_.timers().arm(*this, now + kTick);
}

// A full disk is said once a minute, not once a write.
void Service::complain_of_recorder(base::Instant now) {
  if (recorder_.write_errors() == recorder_errors_said_ || now < recorder_silent_until_) {
    return;
  }
  recorder_errors_said_ = recorder_.write_errors();
  recorder_silent_until_ = now + 1min;
  log_.event(observe::Level::kError, "event=recorder_write_failed failed_writes={} lost={}",
             recorder_errors_said_, recorder_.lost());
}

}  // namespace spillway::app
