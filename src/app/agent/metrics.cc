#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "adapters/agent_check.h"
#include "adapters/cpu_text.h"
#include "adapters/registry.h"
#include "adapters/sample_packet.h"
#include "app/agent/departure.h"
#include "app/agent/service.h"
#include "app/agent/zone_numbers.h"
#include "base/time.h"
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

void write_self(MetricsPage& page) {
  page.counter("spillway_agent_cpu_microseconds_total", "Processor time of the agent itself.", {},
               static_cast<uint64_t>(own_cpu_seconds() * 1e6));
  page.gauge("spillway_agent_private_bytes", "Private memory of the agent itself.", {},
             own_private_bytes());
}

}  // namespace

std::string metrics_text(const Service& service) {
  MetricsPage page;
  const auto now = service.reactor_.now();
  const auto& config = service.config_;
  const auto flag = [&](std::string_view name, std::string_view help, std::string_view label,
                        std::string_view value,
                        bool on) { page.gauge(name, help, {{label, value}}, on ? 1 : 0); };
  page.gauge("spillway_agent_info", "1, with what this agent is.",
             {{"id", config.id},
              {"zone", config.zone},
              {"class", service.law_.self().server_class},
              {"law", to_string(config.law.law)},
              {"cpu", to_string(service.cpu_.form())}},
             1);
  write_reading(service.reading_, service.meter_, page);
  write_decision(service.decision_.value_or(capacity::Decision{}), service.sent_.current(), page);
  write_zone(
      service.decision_ ? zone_numbers(service.view_, now, *service.decision_) : ZoneNumbers{},
      page);
  page.counter("spillway_agent_ticks_total", "Periods begun.", {}, service.counts_.ticks);
  page.counter("spillway_agent_decisions_total", "Steps of the law.", {},
               service.counts_.decisions);
  for (size_t i = 0; i < capacity::kReasons; ++i) {
    page.counter("spillway_agent_decision_reasons_total", "Decisions that each reason acted in.",
                 {{"reason", to_string(static_cast<capacity::Reason>(i))}},
                 service.counts_.reasons.at(i));
  }
  constexpr std::string_view kOrders = "spillway_agent_orders";
  constexpr std::string_view kOrdersHelp = "1 while an operator's order holds.";
  flag(kOrders, kOrdersHelp, "order", "freeze", service.orders_.freeze);
  flag(kOrders, kOrdersHelp, "order", "pin", service.orders_.pin > 0);
  flag(kOrders, kOrdersHelp, "order", "dry_run", service.dry_run());
  flag(kOrders, kOrdersHelp, "order", "drain", service.orders_.drain);
  page.counter("spillway_agent_orders_refused_total", "Contents of orders_file that are wrong.", {},
               service.counts_.orders_refused);
  for (size_t i = 1; i < kDrainReasons; ++i) {
    const auto reason = static_cast<DrainReason>(i);
    flag("spillway_agent_draining", "1 while draining, by reason.", "reason", to_string(reason),
         service.departure_.reason() == reason);
  }
  page.gauge("spillway_agent_warming", "1 while the least weight is sent to a newcomer.", {},
             service.warming(now) ? 1 : 0);
  const auto& polls = service.agent_->counters();
  constexpr std::string_view kPolls = "spillway_agent_polls_total";
  constexpr std::string_view kPollsHelp = "Polls by HAProxies, by what became of them.";
  page.counter(kPolls, kPollsHelp, {{"end", "answered"}}, polls.answered.value());
  page.counter(kPolls, kPollsHelp, {{"end", "refused"}}, polls.refused.value());
  page.counter(kPolls, kPollsHelp, {{"end", "failed"}}, polls.failed.value());
  page.gauge("spillway_agent_pollers", "Addresses that asked in the last 30 s.", {},
             static_cast<double>(service.agent_->pollers(now, std::chrono::seconds(30)).size()));
  for (size_t i = 0; i < adapters::kCpuErrors; ++i) {
    page.counter("spillway_agent_sensor_errors_total", "Readings that failed.",
                 {{"sensor", "cpu"}, {"reason", to_string(static_cast<adapters::CpuErrc>(i))}},
                 service.meter_.counts().cpu_errors.at(i));
  }
  for (size_t i = 0; i < adapters::kLoadErrors; ++i) {
    page.counter("spillway_agent_sensor_errors_total", "Readings that failed.",
                 {{"sensor", "load"}, {"reason", to_string(static_cast<adapters::LoadErrc>(i))}},
                 service.meter_.counts().load_errors.at(i));
  }
  page.counter("spillway_agent_server_restarts_total", "Times the served counts began anew.", {},
               service.meter_.counts().restarts);
  page.counter("spillway_agent_own_id_heard_total", "Samples of another server under our id.", {},
               service.counts_.own_id_heard);
  constexpr std::string_view kReceived = "spillway_agent_samples_received_total";
  constexpr std::string_view kReceivedHelp = "Samples that were signed well, by channel.";
  if (service.peers_ != nullptr) {
    const auto& counters = service.peers_->counters();
    page.counter(kReceived, kReceivedHelp, {{"channel", "peers"}}, counters.received.value());
    page.counter("spillway_agent_samples_sent_total", "Datagrams to peers.", {},
                 counters.sent.value());
    page.counter("spillway_agent_samples_send_errors_total", "Datagrams the kernel refused.", {},
                 counters.send_errors.value());
    write_rejected("peers", counters.rejected, page);
  }
  if (service.redis_ != nullptr) {
    const auto& counters = service.redis_->counters();
    page.counter(kReceived, kReceivedHelp, {{"channel", "redis"}}, counters.received.value());
    page.counter("spillway_agent_redis_reads_total", "Readings of the zone's samples.", {},
                 counters.reads.value());
    page.counter("spillway_agent_redis_failures_total", "Calls without a good answer.", {},
                 counters.failures.value());
    write_rejected("redis", counters.rejected, page);
  }
  for (size_t i = 0; i < capacity::kSampleErrcs; ++i) {
    const auto reason = static_cast<capacity::SampleErrc>(i);
    page.counter("spillway_agent_samples_rejected_total", "Samples not taken, by reason.",
                 {{"channel", "view"}, {"reason", to_string(reason)}},
                 service.view_.refused(reason));
  }
  if (service.spot_ != nullptr) {
    write_spot(service.spot_->counters(), service.counts_, page);
  }
  if (service.registry_ != nullptr) {
    write_registry(*service.registry_, page);
  }
  page.counter("spillway_agent_log_dropped_total", "Log events lost.", {}, service.log_.dropped());
  write_self(page);
  return page.text();
}

}  // namespace spillway::app::agent
