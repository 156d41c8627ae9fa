#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "adapters/agent_check.h"
#include "adapters/cpu_reader.h"
#include "adapters/cpu_text.h"
#include "adapters/load_text.h"
#include "adapters/peer_exchange.h"
#include "adapters/redis_samples.h"
#include "adapters/registry.h"
#include "adapters/sample_packet.h"
#include "adapters/spot_watch.h"
#include "app/agent/departure.h"
#include "app/agent/files.h"
#include "app/agent/meter.h"
#include "app/agent/orders.h"
#include "app/agent/service.h"
#include "app/agent/zone_numbers.h"
#include "base/time.h"
#include "capacity/law.h"
#include "capacity/law_settings.h"
#include "capacity/reading.h"
#include "capacity/zone_view.h"
#include "observe/metrics_page.h"

namespace spillway::app::agent {
namespace {

using observe::MetricsPage;

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Private pages, clean and dirty.
double own_private_bytes() {
  const auto text = adapters::read_kernel_file("/proc/self/smaps_rollup");
  const auto kib = [&](std::string_view key) {
    return text ? adapters::parse_keyed(*text, key).value_or(0) : 0;
  };
  return 1024 * static_cast<double>(kib("Private_Clean:") + kib("Private_Dirty:"));
}

void write_reading(const capacity::Reading& reading, const Meter& meter, MetricsPage& page) {
  const auto& cpu = meter.cpu();
  page.gauge("spillway_agent_utilization_ratio", "CPU used of what may be used, last window.", {},
             reading.utilization);
  page.gauge("spillway_agent_cpu_used_cores", "Mean of the last window.", {}, cpu.used_cores);
  page.gauge("spillway_agent_cpu_allowed_cores", "By quota, processor set and machine.", {},
             cpu.allowed_cores);
  page.gauge("spillway_agent_cpu_throttled_ratio", "Quota periods that were used up.", {},
             cpu.throttled_ratio);
  page.gauge("spillway_agent_cpu_stalled_ratio", "Time some task waited for a processor (PSI).", {},
             cpu.stalled_ratio);
  page.gauge("spillway_agent_cpu_stolen_ratio", "Taken by the hypervisor.", {}, cpu.stolen_ratio);
  page.gauge("spillway_agent_successes_per_second", "Answered well and in time.", {},
             reading.successes_per_second);
  page.gauge("spillway_agent_failures_per_second", "Answered badly or too late.", {},
             reading.failures_per_second);
  page.gauge("spillway_agent_requests_per_second", "All that came.", {},
             reading.requests_per_second);
  page.gauge("spillway_agent_latency_p95_seconds", "Of the server's answers; 0: it does not tell.",
             {}, reading.p95_ms / 1e3);
  const auto load = meter.load().value_or(adapters::LoadCounts{});
  page.gauge("spillway_agent_in_flight_requests", "Not answered yet.", {}, load.in_flight);
  page.gauge("spillway_agent_in_flight_limit", "Most that may be; 0: unknown.", {}, load.limit);
}

void write_decision(const capacity::Decision& decision, uint32_t sent, MetricsPage& page) {
  page.gauge("spillway_agent_capacity_per_second",
             "Successful requests a second at full use, estimated; 0: unknown.", {},
             decision.capacity);
  page.gauge("spillway_agent_weight", "As decided.", {}, decision.weight);
  page.gauge("spillway_agent_weight_target", "What the law wanted before limits of steps.", {},
             decision.target);
  page.gauge("spillway_agent_weight_prior", "What the class says; 0: unknown.", {}, decision.prior);
  page.gauge("spillway_agent_weight_sent", "Whole number of this period.", {}, sent);
  page.gauge("spillway_agent_zone_utilization_ratio", "Mean of the zone; 0: unknown.", {},
             decision.mean_utilization);
  page.gauge("spillway_agent_zone_mean_capacity_per_second", "Mean of the zone; 0: unknown.", {},
             decision.mean_capacity);
  page.gauge("spillway_agent_zone_mean_age_seconds", "Age of the peers' samples used.", {},
             seconds_of(decision.mean_age));
  page.gauge("spillway_agent_peers_live", "Peers of the zone with a live sample.", {},
             decision.peers);
  const double margin = decision.gain.margin();
  page.gauge("spillway_agent_loop_margin_ratio",
             "Times the gain could be until the loop rings; 0: it has no loop.", {},
             std::isfinite(margin) ? margin : 0);
}

void write_zone(const ZoneNumbers& zone, MetricsPage& page) {
  page.gauge("spillway_agent_servers_known", "Servers whose sample is kept.", {}, zone.known);
  page.gauge("spillway_agent_zone_servers", "Live ones of the zone, this one included.", {},
             zone.live);
  page.gauge("spillway_agent_zone_spread_ratio", "Highest less lowest utilization.", {},
             zone.spread_ratio);
  page.gauge("spillway_agent_zone_saturated_servers", "Servers above 95 % of utilization.", {},
             zone.saturated);
  page.gauge("spillway_agent_zone_capacity_per_second", "Sum of the known capacities.", {},
             zone.capacity);
  page.gauge("spillway_agent_zone_demand_ratio",
             "Requests a second of the zone's capacity: what to scale on.", {}, zone.demand_ratio);
  page.gauge("spillway_agent_share_ratio", "This server's of the zone's weights.", {},
             zone.share_ratio);
}

template <typename Counters>
void write_rejected(std::string_view channel, const Counters& rejected, MetricsPage& page) {
  for (size_t i = 0; i < adapters::kPacketErrors; ++i) {
    page.counter(
        "spillway_agent_samples_rejected_total", "Samples not taken, by reason.",
        {{"channel", channel}, {"reason", to_string(static_cast<adapters::PacketErrc>(i))}},
        rejected.at(i).value());
  }
}

void write_spot(const adapters::SpotCounters& counters, const AgentCounts& counts,
                MetricsPage& page) {
  const auto event = [&](std::string_view name, uint64_t value) {
    page.counter("spillway_agent_spot_events_total", "Looks at the metadata service.",
                 {{"event", name}}, value);
  };
  event("poll", counters.polls.value());
  event("token", counters.tokens.value());
  event("failure", counters.failures.value());
  event("rebalance", counts.spot_notices.at(0));
  event("interruption", counts.spot_notices.at(1));
}

void write_registry(const adapters::Registry& registry, MetricsPage& page) {
  page.gauge("spillway_agent_registry_announced", "1 while the registry names this server.", {},
             registry.announced() ? 1 : 0);
  page.gauge("spillway_agent_registry_age_seconds", "Since the members were last read; -1: never.",
             {}, registry.age() ? seconds_of(*registry.age()) : -1);
  for (size_t i = 0; i < adapters::kRegistryErrors; ++i) {
    const auto reason = to_string(static_cast<adapters::RegistryErrc>(i));
    page.counter("spillway_agent_registry_errors_total", "Calls that failed, by kind and reason.",
                 {{"call", "read"}, {"reason", reason}},
                 registry.counters().read_errors.at(i).value());
    page.counter("spillway_agent_registry_errors_total", "Calls that failed, by kind and reason.",
                 {{"call", "register"}, {"reason", reason}},
                 registry.counters().registration_errors.at(i).value());
  }
}

void write_lines(std::string_view name, const LineFile* file, MetricsPage& page) {
  const auto end = [&](std::string_view how, uint64_t value) {
    page.counter("spillway_agent_file_lines_total", "Lines for files, by what became of them.",
                 {{"file", name}, {"end", how}}, value);
  };
  end("written", file == nullptr ? 0 : file->lines());
  end("lost", file == nullptr ? 0 : file->failures());
}

void write_self(MetricsPage& page) {
  page.counter("spillway_agent_cpu_microseconds_total", "Processor time of the agent itself.", {},
               static_cast<uint64_t>(own_cpu_seconds() * 1e6));
  page.gauge("spillway_agent_private_bytes", "Private memory of the agent itself.", {},
             own_private_bytes());
}

void write_counts(const AgentCounts& counts, MetricsPage& page) {
  page.counter("spillway_agent_ticks_total", "Periods begun.", {}, counts.ticks);
  page.counter("spillway_agent_decisions_total", "Steps of the law.", {}, counts.decisions);
  for (size_t i = 0; i < capacity::kReasons; ++i) {
    page.counter("spillway_agent_decision_reasons_total", "Decisions that each reason acted in.",
                 {{"reason", to_string(static_cast<capacity::Reason>(i))}}, counts.reasons.at(i));
  }
  page.counter("spillway_agent_orders_refused_total", "Contents of orders_file that are wrong.", {},
               counts.orders_refused);
  const auto reloads = [&page](std::string_view end, uint64_t value) {
    page.counter("spillway_agent_reloads_total", "Readings of the configuration while running.",
                 {{"end", end}}, value);
  };
  reloads("done", counts.reloads);
  reloads("refused", counts.reloads_refused);
  page.counter("spillway_agent_own_id_heard_total", "Samples of another server under our id.", {},
               counts.own_id_heard);
}

void write_orders(const OperatorOrders& orders, bool dry_run, DrainReason draining,
                  MetricsPage& page) {
  const auto order = [&](std::string_view name, bool holds) {
    page.gauge("spillway_agent_orders", "1 while an operator's order holds.", {{"order", name}},
               holds ? 1 : 0);
  };
  order("freeze", orders.freeze);
  order("pin", orders.pin > 0);
  order("dry_run", dry_run);
  order("drain", orders.drain);
  for (size_t i = 1; i < kDrainReasons; ++i) {
    const auto reason = static_cast<DrainReason>(i);
    page.gauge("spillway_agent_draining", "1 while draining, by reason.",
               {{"reason", to_string(reason)}}, draining == reason ? 1 : 0);
  }
}

void write_polls(const adapters::AgentCheckServer& agent, base::Instant now, MetricsPage& page) {
  const auto end = [&](std::string_view name, uint64_t value) {
    page.counter("spillway_agent_polls_total", "Polls by HAProxies, by what became of them.",
                 {{"end", name}}, value);
  };
  end("answered", agent.counters().answered.value());
  end("refused", agent.counters().refused.value());
  end("failed", agent.counters().failed.value());
  page.gauge("spillway_agent_pollers", "Addresses that asked in the last 30 s.", {},
             static_cast<double>(agent.pollers(now, std::chrono::seconds(30)).size()));
}

void write_sensors(const MeterCounts& counts, MetricsPage& page) {
  const auto errors = [&](std::string_view sensor, std::string_view reason, uint64_t value) {
    page.counter("spillway_agent_sensor_errors_total", "Readings that failed.",
                 {{"sensor", sensor}, {"reason", reason}}, value);
  };
  for (size_t i = 0; i < adapters::kCpuErrors; ++i) {
    errors("cpu", to_string(static_cast<adapters::CpuErrc>(i)), counts.cpu_errors.at(i));
  }
  for (size_t i = 0; i < adapters::kLoadErrors; ++i) {
    errors("load", to_string(static_cast<adapters::LoadErrc>(i)), counts.load_errors.at(i));
  }
  page.counter("spillway_agent_server_restarts_total", "Times the served counts began anew.", {},
               counts.restarts);
}

void write_received(std::string_view channel, uint64_t value, MetricsPage& page) {
  page.counter("spillway_agent_samples_received_total",
               "Samples that were signed well, by channel.", {{"channel", channel}}, value);
}

void write_peers(const adapters::PeerCounters& counters, MetricsPage& page) {
  write_received("peers", counters.received.value(), page);
  page.counter("spillway_agent_samples_sent_total", "Datagrams to peers.", {},
               counters.sent.value());
  page.counter("spillway_agent_samples_send_errors_total", "Datagrams the kernel refused.", {},
               counters.send_errors.value());
  page.counter("spillway_agent_peers_moved_total", "Names found at another address than before.",
               {}, counters.moved.value());
  write_rejected("peers", counters.rejected, page);
}

void write_redis(const adapters::RedisSamplesCounters& counters, MetricsPage& page) {
  write_received("redis", counters.received.value(), page);
  page.counter("spillway_agent_redis_reads_total", "Readings of the zone's samples.", {},
               counters.reads.value());
  page.counter("spillway_agent_redis_failures_total", "Calls without a good answer.", {},
               counters.failures.value());
  write_rejected("redis", counters.rejected, page);
}

void write_view(const capacity::ZoneView& view, MetricsPage& page) {
  for (size_t i = 0; i < capacity::kSampleErrcs; ++i) {
    const auto reason = static_cast<capacity::SampleErrc>(i);
    page.counter("spillway_agent_samples_rejected_total", "Samples not taken, by reason.",
                 {{"channel", "view"}, {"reason", to_string(reason)}}, view.refused(reason));
  }
}

}  // namespace

std::string metrics_text(const Service& service) {
  MetricsPage page;
  const auto now = service.reactor_.now();
  page.gauge("spillway_agent_info", "1, with what this agent is.",
             {{"id", service.config_.id},
              {"zone", service.config_.zone},
              {"class", service.law_.self().server_class},
              {"law", to_string(service.config_.law.law)},
              {"cpu", to_string(service.cpu_.form())}},
             1);
  write_reading(service.reading_, service.meter_, page);
  write_decision(service.decision_.value_or(capacity::Decision{}), service.sent_.current(), page);
  write_zone(
      service.decision_ ? zone_numbers(service.view_, now, *service.decision_) : ZoneNumbers{},
      page);
  write_counts(service.counts_, page);
  write_orders(service.orders_, service.dry_run(), service.departure_.reason(), page);
  page.gauge("spillway_agent_warming", "1 while the least weight is sent to a newcomer.", {},
             service.warming(now) ? 1 : 0);
  write_polls(*service.agent_, now, page);
  write_sensors(service.meter_.counts(), page);
  if (service.peers_ != nullptr) {
    write_peers(service.peers_->counters(), page);
  }
  if (service.redis_ != nullptr) {
    write_redis(service.redis_->counters(), page);
  }
  write_view(service.view_, page);
  if (service.spot_ != nullptr) {
    write_spot(service.spot_->counters(), service.counts_, page);
  }
  if (service.registry_ != nullptr) {
    write_registry(*service.registry_, page);
  }
  write_lines("record", service.record_.get(), page);
  write_lines("emf", service.emf_.get(), page);
  page.counter("spillway_agent_log_dropped_total", "Log events lost.", {}, service.log_.dropped());
  write_self(page);
  return page.text();
}

}  // namespace spillway::app::agent
