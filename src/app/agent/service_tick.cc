// What an agent does each period.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "adapters/agent_check.h"
#include "adapters/cpu_reader.h"
#include "adapters/emf.h"
#include "adapters/peer_exchange.h"
#include "adapters/registry.h"
#include "app/agent/departure.h"
#include "app/agent/files.h"
#include "app/agent/meter.h"
#include "app/agent/orders.h"
#include "app/agent/service.h"
#include "app/agent/zone_numbers.h"
#include "app/config/config_file.h"
#include "app/serving/wall_clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/law.h"
#include "capacity/reading.h"
#include "capacity/sample_text.h"
#include "capacity/zone_view.h"
#include "observe/log.h"

namespace spillway::app::agent {
namespace {

using namespace std::chrono_literals;
using adapters::AgentWord;
using observe::Level;

constexpr base::Duration kLeavingTick = 250ms;
constexpr base::Duration kSaveEvery = 10s;
constexpr size_t kOrdersBytes = 4096;

/// The same for a server on every start, spread over the period between servers.
int64_t phase_ns(const std::string& id, base::Duration period) {
  return static_cast<int64_t>(base::hash64(id) % static_cast<uint64_t>(period.count()));
}

}  // namespace

void Service::on_timer(base::Instant now) {
  ++counts_.ticks;
  refresh_orders(now);
  supervisor_.alive(now);
  if (ready_ != nullptr && !gate_passed_) {
    (void)ready_->ask(now);
  }
  begin_tick();
  reactor_.timers().arm(*this, next_tick(now));
}

// Aligned with the wall clock, each server at its own phase.
base::Instant Service::next_tick(base::Instant now) const {
  const auto period = config_.law.period;
  if (departure_.leaving()) {
    return now + std::min(period, kLeavingTick);
  }
  const int64_t wall_ns = wall_clock_ms() * 1'000'000;
  const int64_t into = (wall_ns - phase_ns(config_.id, period)) % period.count();
  const auto rest = period - base::Duration(into);
  return now + (rest < period / 2 ? rest + period : rest);
}

// Reads the processor when the server's counts have come, so that both are of one window.
void Service::begin_tick() {
  // An answer that is still under way counts as none.
  if (load_ == nullptr || !load_->ask(reactor_.now())) {
    end_tick(std::nullopt);
  }
}

// What came since the last period, all at once.
void Service::gather_samples() {
  if (peers_ == nullptr) {
    return;
  }
  peers_->gather();
  auto unknown = peers_->unknown_peers();
  if (unknown == unknown_peers_) {
    return;
  }
  for (const auto& peer : unknown) {
    if (std::ranges::find(unknown_peers_, peer) == unknown_peers_.end()) {
      log_.event(Level::kError, "event=peer_unknown peer={} what=\"no address found: left out\"",
                 observe::quoted(peer));
    }
  }
  unknown_peers_ = std::move(unknown);
}

void Service::end_tick(const std::optional<Meter::Load>& load) {
  gather_samples();
  const auto now = reactor_.refresh();
  const auto cpu = cpu_.read(now);
  follow_size();
  reading_ = meter_.read(now, cpu, load);
  load_answered_ = load_answered_ || load_ == nullptr || (load && load->has_value());
  // A window that has hardly begun says nothing; a sensor that is dead is the law's to judge.
  const bool no_window =
      cpu ? cpu->length < config_.law.period / 4
          : cpu.error() == adapters::CpuErrc::kFirst || cpu.error() == adapters::CpuErrc::kTooShort;
  if (warming(now)) {
    meter_.begin_serving(now);
  } else if (!no_window && load_answered_) {
    decide(now, reading_);
    share(now);
  }
  set_reply(now);
  follow_departure(now);
  write_emf(now);
  save(now, false);
  if (departure_.is_over(now,
                         meter_.is_quiet() && (registry_ == nullptr || registry_->withdrawn()))) {
    end();
  }
}

// What others keep of us goes with us: one more turn, so that it is sent.
void Service::end() {
  if (redis_ == nullptr || std::exchange(left_, true)) {
    reactor_.stop();
    return;
  }
  redis_->leave(config_.id);
}

// A server found at work is never warming, nor one that goes on where it was.
bool Service::warming(base::Instant now) const {
  if (resumed_ || meter_.found_serving()) {
    return false;
  }
  return !decision_ && (now < listen_until_ || !gate_open());
}

// A quota may change under a running server: it is of another class then.
void Service::follow_size() {
  const double cores = cpu_.allowed_cores();
  if (cores <= 0 || cores == law_.self().cores) {
    return;
  }
  auto server_class = config_.class_by_cores ? fmt::format("{}-{:.4g}", config_.server_class, cores)
                                             : config_.server_class;
  log_.event(Level::kInfo, "event=sized cores={:.3f} was={:.3f} class={}", cores, law_.self().cores,
             server_class);
  law_.resize(std::move(server_class), cores);
}

void Service::decide(base::Instant now, const capacity::Reading& reading) {
  // One that was found at work hears its peers first too: its weight stays what it is.
  if (!decision_ && now < listen_until_) {
    return;
  }
  const capacity::Orders orders{.draining = departure_.draining(),
                                .warming = false,
                                .freeze = orders_.freeze,
                                .pin = orders_.pin};
  const auto before = decision_ ? decision_->reasons : capacity::Reasons();
  decision_ = law_.step(now, reading, orders, view_);
  (void)sent_.tick(decision_->weight);
  ++counts_.decisions;
  for (size_t i = 0; i < capacity::kReasons; ++i) {
    counts_.reasons.at(i) += decision_->reasons.has(static_cast<capacity::Reason>(i)) ? 1 : 0;
  }
  const bool changed = !(before == decision_->reasons);
  log_.event(changed || dry_run() ? Level::kInfo : Level::kDebug,
             "event=decided weight={:.2f} target={:.2f} sent={} utilization={:.4f} "
             "successes_per_second={:.1f} capacity={:.1f} mean_utilization={:.4f} peers={} "
             "dry_run={} reasons={}",
             decision_->weight, decision_->target, sent_.current(), reading.utilization,
             reading.successes_per_second, decision_->capacity, decision_->mean_utilization,
             decision_->peers, dry_run(), to_string(decision_->reasons));
}

void Service::share(base::Instant now) {
  if (left_ || !decision_ || !capacity::plausible(decision_->sample)) {
    return;
  }
  auto sample = decision_->sample;
  sample.cores = meter_.cpu().allowed_cores;
  if (peers_ != nullptr) {
    peers_->send(sample);
  }
  if (redis_ != nullptr) {
    redis_->exchange(sample);
  }
  if (record_ != nullptr) {
    std::string line;
    capacity::append_text(line, sample, now - std::chrono::milliseconds(wall_clock_ms()));
    record_->append(std::move(line));
  }
}

void Service::refresh_orders(base::Instant now) {
  OperatorOrders next = given_;
  if (!config_.orders_file.empty()) {
    const auto text = read_whole_file(config_.orders_file, kOrdersBytes);
    // No file: no orders. One that is wrong: what it said before it was touched stands.
    const auto parsed =
        text ? parse_orders(*text) : base::Result<OperatorOrders, std::string>(OperatorOrders());
    if (parsed) {
      orders_error_.clear();
      file_orders_ = *parsed;
    } else if (orders_error_ != parsed.error()) {
      orders_error_ = parsed.error();
      ++counts_.orders_refused;
      log_.event(Level::kError, "event=orders_refused file={} what={}",
                 observe::quoted(config_.orders_file), observe::quoted(orders_error_));
    }
    next = together(given_, file_orders_);
  }
  if (next == orders_) {
    return;
  }
  const bool was_drain = orders_.drain;
  orders_ = next;
  log_.event(Level::kInfo, "event=orders freeze={} pin={:.1f} dry_run={} drain={}", orders_.freeze,
             orders_.pin, dry_run(), orders_.drain);
  if (orders_.drain && !was_drain && !departure_.draining()) {
    departure_.drain(now, DrainReason::kOperator);
  } else if (!orders_.drain && was_drain && departure_.reason() == DrainReason::kOperator) {
    departure_.come_back(now);
  }
  set_reply(now);
  follow_departure(now);
}

void Service::set_reply(base::Instant now) {
  adapters::AgentReply reply{.word = departure_.word(now),
                             .percent = sent_.current(),
                             .absolute_weight = config_.absolute_weight};
  if (dry_run()) {
    reply.word = AgentWord::kUpBare;
  } else if (!decision_ && reply.word != AgentWord::kDrain) {
    if (resumed_) {
      reply.percent = static_cast<uint32_t>(std::lround(resumed_weight_));
    } else if (load_answered_ && warming(now)) {
      reply.percent = static_cast<uint32_t>(std::lround(config_.law.min_weight));
    } else if (reply.word == AgentWord::kUp) {
      reply.word = AgentWord::kUpBare;
    }
  }
  agent_->set_reply(reply);
}

// Membership follows: announced once the server serves, withdrawn with the first word of a drain.
void Service::follow_departure(base::Instant now) {
  set_reply(now);
  const bool wanted = !departure_.draining() && load_answered_ && gate_open();
  if (wanted == announced_) {
    return;
  }
  announced_ = wanted;
  log_.event(Level::kInfo, "event={} reason={}", wanted ? "serving" : "draining",
             to_string(departure_.reason()));
  if (!wanted) {
    save(now, true);
  }
  if (registry_ == nullptr) {
    return;
  }
  if (wanted) {
    registry_->announce({.id = config_.id,
                         .host = config_.registry.host,
                         .port = static_cast<uint16_t>(config_.registry.port),
                         .agent_port = agent_->port(),
                         .zone = config_.zone,
                         .server_class = config_.server_class});
  } else {
    registry_->withdraw();
  }
}

void Service::write_emf(base::Instant now) {
  if (emf_ == nullptr || now < emf_at_ || !decision_) {
    return;
  }
  emf_at_ = now + config_.emf.interval;
  const auto zone = zone_numbers(view_, now, *decision_);
  emf_->append(adapters::emf_line(
      {.name_space = config_.emf.name_space,
       .service = config_.service,
       .zone = config_.zone,
       .instance = config_.id,
       .wall_ms = wall_clock_ms(),
       .metrics = {
           {.name = "Utilization", .unit = "Percent", .value = 100 * reading_.utilization},
           {.name = "Capacity", .unit = "Count/Second", .value = decision_->capacity},
           {.name = "Weight", .unit = "None", .value = decision_->weight},
           {.name = "Successes", .unit = "Count/Second", .value = reading_.successes_per_second},
           {.name = "Failures", .unit = "Count/Second", .value = reading_.failures_per_second},
           {.name = "ZoneUtilization",
            .unit = "Percent",
            .value = 100 * decision_->mean_utilization},
           {.name = "ZoneDemand", .unit = "Percent", .value = 100 * zone.demand_ratio},
           {.name = "ZoneSpread", .unit = "Percent", .value = 100 * zone.spread_ratio},
           {.name = "ZoneSaturated", .unit = "Count", .value = static_cast<double>(zone.saturated)},
           {.name = "PeersLive",
            .unit = "Count",
            .value = static_cast<double>(decision_->peers)}}}));
}

void Service::save(base::Instant now, bool at_once) {
  if (config_.state_file.empty() || (!at_once && now - saved_at_ < kSaveEvery)) {
    return;
  }
  saved_at_ = now;
  const bool decided = decision_.has_value();
  const bool good =
      save_state(config_.state_file, {.weight = decided ? decision_->weight : resumed_weight_,
                                      .capacity = decided ? decision_->capacity : 0,
                                      .drained = departure_.draining(),
                                      .saved_at_ms = wall_clock_ms()});
  counts_.state_failures += good ? 0 : 1;
}

}  // namespace spillway::app::agent
