#include "app/agent/service.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include "adapters/agent_check.h"
#include "adapters/load_poller.h"
#include "adapters/load_text.h"
#include "adapters/peer_exchange.h"
#include "adapters/redis_samples.h"
#include "adapters/registry.h"
#include "adapters/registry_http.h"
#include "adapters/registry_redis.h"
#include "adapters/spot_watch.h"
#include "app/agent/agent_config.h"
#include "app/agent/departure.h"
#include "app/agent/files.h"
#include "app/agent/meter.h"
#include "app/config/config_file.h"
#include "app/serving/listeners.h"
#include "app/serving/wall_clock.h"
#include "base/time.h"
#include "capacity/law_settings.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"
#include "net/http.h"
#include "net/server.h"
#include "net/signals.h"
#include "observe/log.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;
using observe::Level;

constexpr size_t kLogQueue = 128;
constexpr size_t kAdminConnections = 32;
constexpr size_t kStateBytes = 4096;
/// What was saved longer ago says nothing of the weight any more.
constexpr int64_t kStateLifeMs = 600'000;
constexpr uint64_t kEmfBytes = uint64_t{16} << 20;

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

Service::Service(AgentConfig config, Read read)
    : config_(std::move(config)),
      read_(std::move(read)),
      reactor_(clock_),
      signals_(std::make_unique<net::SignalSource>(
          reactor_, std::initializer_list<int>{SIGTERM, SIGINT, SIGUSR1, SIGHUP},
          [this](int number) { on_signal(number); })),
      log_(static_cast<Level>(config_.log_level), STDERR_FILENO, kLogQueue),
      started_at_ms_(wall_clock_ms()),
      view_(config_.view),
      cpu_(config_.cpu),
      law_(config_.law, {.id = config_.id,
                         .zone = config_.zone,
                         .server_class = config_.server_class,
                         .cores = 0,
                         .started_at_ms = static_cast<uint64_t>(started_at_ms_)}),
      meter_(config_.load.has_value()),
      departure_(config_.drain) {
  // Of no window yet; what it allows is known.
  [[maybe_unused]] const auto first = cpu_.read(clock_.now());
  follow_size();
  open_listeners();
  if (!error_.empty()) {
    return;
  }
  open_sharing();
  if (!error_.empty()) {
    return;
  }
  open_registry();
  if (config_.load) {
    load_ = std::make_unique<adapters::LoadPoller>(
        reactor_, *config_.load, [this](const Meter::Load& load) { end_tick(load); });
  }
  if (config_.ready) {
    ready_ = std::make_unique<adapters::LoadPoller>(
        reactor_, *config_.ready, [this](const Meter::Load& answer) {
          // Any body will do: what counts is the status.
          gate_passed_ = gate_passed_ || answer ||
                         answer.error() == adapters::LoadErrc::kMalformed ||
                         answer.error() == adapters::LoadErrc::kMissing;
        });
  }
  if (config_.spot.enabled) {
    spot_ = std::make_unique<adapters::SpotWatch>(
        reactor_, config_.spot.settings,
        [this](adapters::SpotNotice notice, std::string_view text) { on_notice(notice, text); });
  }
  if (!config_.emf.file.empty()) {
    emf_ = std::make_unique<LineFile>(config_.emf.file, kEmfBytes);
  }
  if (!config_.record_file.empty()) {
    record_ = std::make_unique<LineFile>(config_.record_file, config_.record_bytes);
  }
  resume();
}

Service::~Service() = default;

void Service::open_listeners() {
  agent_ = std::make_unique<adapters::AgentCheckServer>(reactor_, config_.listen,
                                                        config_.max_connections);
  if (!agent_->error().empty()) {
    error_ = "agent.listen: " + agent_->error();
    return;
  }
  std::vector<net::Server::Worker> workers;
  workers.push_back(
      {.reactor = reactor_, .handler = [this](const net::Request& request, net::Reply reply) {
         net::Response response = answer(request);
         reply.send(std::move(response));
       }});
  net::ServerLimits limits;
  limits.connections = kAdminConnections;
  limits.worker_bytes = size_t{4} << 20;
  limits.body_bytes = size_t{4} << 10;
  net::ListenerSettings listener;
  listener.http2.enabled = false;
  admin_ = std::make_unique<net::Server>(config_.admin_listen, limits, std::move(workers),
                                         std::move(listener));
  if (!admin_->error().empty()) {
    error_ = "admin.listen: " + admin_->error();
  }
}

void Service::open_sharing() {
  const auto take = [this](const capacity::Sample& sample) { take_sample(sample); };
  if (config_.peers) {
    peers_ =
        std::make_unique<adapters::PeerExchange>(reactor_, *config_.peers, wall_clock_ms, take);
    if (!peers_->error().empty()) {
      error_ = "peers.listen: " + peers_->error();
      return;
    }
  }
  if (config_.redis && config_.redis_samples) {
    redis_ = std::make_unique<adapters::RedisSamples>(
        reactor_, *config_.redis,
        adapters::RedisSamplesSettings{
            .service = config_.service, .zone = config_.zone, .key = config_.key},
        random_number(), wall_clock_ms, take);
    redis_->start();
  }
}

void Service::open_registry() {
  const auto& registry = config_.registry;
  switch (registry.kind) {
    case RegistryKind::kNone:
      return;
    case RegistryKind::kRedis:
      if (config_.redis) {  // the configuration has it with this kind
        registry_ =
            adapters::redis_registry(reactor_, *config_.redis, registry.settings, random_number());
      }
      break;
    case RegistryKind::kConsul:
      registry_ = adapters::consul_registry(reactor_, registry.http, registry.settings);
      break;
    case RegistryKind::kEtcd:
      registry_ = adapters::etcd_registry(reactor_, registry.http, registry.settings);
      break;
  }
  if (registry.watch && registry_ != nullptr) {
    registry_->watch(*this);
  }
}

void Service::resume() {
  if (config_.state_file.empty()) {
    return;
  }
  const auto text = read_whole_file(config_.state_file, kStateBytes);
  const auto state = text ? parse_state(*text) : std::nullopt;
  if (!state) {
    if (text) {
      log_.event(Level::kWarn, "event=state_not_resumed reason={}",
                 observe::quoted(config_.state_file + " is no state of ours"));
    }
    return;
  }
  if (state->drained) {
    departure_.resume_drained(clock_.now());
  }
  const int64_t age_ms = wall_clock_ms() - state->saved_at_ms;
  if (age_ms >= 0 && age_ms <= kStateLifeMs && state->weight >= config_.law.min_weight) {
    law_.resume(state->weight, state->capacity);
    resumed_ = true;
    resumed_weight_ = state->weight;
  }
  log_.event(Level::kInfo, "event=resumed weight={:.1f} capacity={:.1f} drained={} age_ms={}",
             state->weight, state->capacity, state->drained, age_ms);
}

void Service::run(
    const std::function<void(const std::string& listen, const std::string& admin)>& started) {
  const auto listen = at_port(config_.listen, agent_->port());
  const auto admin = at_port(config_.admin_listen, admin_->port());
  const bool shares = peers_ != nullptr || redis_ != nullptr;
  listen_until_ =
      clock_.now() + (shares && !resumed_ ? 2 * config_.law.period : base::Duration::zero());
  agent_->start();
  admin_->start();
  if (spot_ != nullptr) {
    spot_->start();
  }
  started(listen, admin);
  log_.event(Level::kInfo,
             "event=started listen={} admin={} id={} zone={} class={} law={} peers={} dry_run={}",
             listen, admin, config_.id, config_.zone, law_.self().server_class,
             to_string(config_.law.law), config_.peers ? config_.peers->peers.size() : 0,
             config_.dry_run);
  supervisor_.ready();
  on_timer(reactor_.refresh());
  reactor_.run();
  save(clock_.now(), true);
  log_.event(Level::kInfo, "event=stopped drained={} quiet={} polls={}", departure_.draining(),
             meter_.is_quiet(), agent_->counters().answered.value());
}

void Service::on_signal(int number) {
  const auto now = reactor_.now();
  if (number == SIGUSR1) {
    given_.freeze = !given_.freeze;
    note_orders("signal");
  } else if (number == SIGHUP) {
    (void)reload();
  } else if (number == SIGINT || departure_.leaving()) {
    reactor_.stop();
  } else {
    log_.event(Level::kInfo, "event=leaving wait_ms={:.0f} announce_ms={:.0f}",
               base::to_ms(config_.drain.wait), base::to_ms(config_.drain.announce));
    supervisor_.stopping(config_.drain.wait + 1s);
    departure_.leave(now);
    follow_departure(now);
    reactor_.timers().arm(*this, now);
  }
}

void Service::on_notice(adapters::SpotNotice notice, std::string_view text) {
  const bool interruption = notice == adapters::SpotNotice::kInterruption;
  ++counts_.spot_notices.at(static_cast<size_t>(notice));
  log_.event(Level::kWarn, "event=spot_notice kind={} text={}",
             interruption ? "interruption" : "rebalance", observe::quoted(text));
  if (interruption || config_.spot.on_rebalance == OnRebalance::kDrain) {
    departure_.drain(reactor_.now(),
                     interruption ? DrainReason::kSpotInterruption : DrainReason::kRebalance);
    follow_departure(reactor_.now());
  }
}

// The registry has its own doubts about sets that shrink: what it says is confirmed.
void Service::on_registry(const adapters::RegistryView& view) {
  std::vector<std::string> ids;
  ids.reserve(view.instances.size() + 1);
  for (const auto& instance : view.instances) {
    ids.push_back(instance.id);
  }
  ids.push_back(config_.id);
  if (const auto taken = view_.set_members(ids, true); !taken) {
    log_.event(Level::kWarn, "event=members_refused reason={}", to_string(taken.error()));
  }
}

void Service::take_sample(const capacity::Sample& sample) {
  const auto own_start = static_cast<uint64_t>(started_at_ms_);
  if (sample.id == config_.id) {
    // Our own through the store, or an earlier process's; a later one is another server.
    counts_.own_id_heard += sample.started_at_ms > own_start ? 1 : 0;
    return;
  }
  // The view counts what it refuses.
  [[maybe_unused]] const auto taken = view_.put(reactor_.now(), sample);
}

}  // namespace spillway::app::agent
