#include "app/config/plan.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/config/exchange_config.h"
#include "app/config/units.h"
#include "app/config/url.h"
#include "base/time.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"

namespace spillway::app {
namespace {

constexpr uint64_t kOwnFiles = 64;  // log, recorder, event loops, and some air

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

void warn_of_endpoint(const EndpointPlan& plan, uint32_t workers, const MachineLimits& machine,
                      std::vector<std::string>& warnings) {
  if (plan.in_flight_mean > plan.max_connections) {
    warnings.push_back(
        fmt::format("{}: {} calls/s of {} need {:.0f} connections, max_connections is {}: calls "
                    "will be refused",
                    plan.key, plan.qps, duration_text(plan.latency), plan.in_flight_mean,
                    plan.max_connections));
  } else if (plan.in_flight_worst > plan.max_connections) {
    warnings.push_back(
        fmt::format("{}: when every answer takes the whole tmax, {:.0f} connections are needed, "
                    "max_connections "
                    "is {}",
                    plan.key, plan.in_flight_worst, plan.max_connections));
  }
  if (plan.max_connections < workers) {
    warnings.push_back(
        fmt::format("{}: max_connections {} is less than the {} workers: each holds "
                    "one all the same",
                    plan.key, plan.max_connections, workers));
  }
  if (plan.max_connections > machine.ephemeral_ports / 5 * 4) {
    warnings.push_back(
        fmt::format("{}: max_connections {} comes near the {} ephemeral ports towards "
                    "one address",
                    plan.key, plan.max_connections, machine.ephemeral_ports));
  }
}

/// The most that both contracts let through to one endpoint; 0 when there is none.
uint32_t contracted_qps(const exchange::DspConfig& dsp, const exchange::Endpoint& endpoint) {
  if (dsp.qps == 0 || endpoint.guard.qps == 0) {
    return std::max(dsp.qps, endpoint.guard.qps);
  }
  return std::min(dsp.qps, endpoint.guard.qps);
}

}  // namespace

size_t callers_within(const ExchangeConfig& config, uint64_t open_files) {
  uint64_t others = kOwnFiles + kAdminConnections;
  for (const auto& dsp : config.snapshot.dsps) {
    others += uint64_t{dsp.max_connections} * dsp.endpoints.size();
  }
  const uint64_t left = open_files > others ? open_files - others : 0;
  const uint64_t most = std::max({uint64_t{1}, open_files / 4, left});
  return static_cast<size_t>(std::min<uint64_t>(config.limits.connections, most));
}

uint32_t connections_of_worker(uint32_t max_connections, uint32_t workers, uint32_t worker) {
  const uint32_t part = max_connections / workers + (worker < max_connections % workers ? 1 : 0);
  return std::max(1U, part);
}

ConnectionPlan plan_connections(const ExchangeConfig& config, const MachineLimits& machine) {
  ConnectionPlan plan;
  const auto& snapshot = config.snapshot;
  for (size_t i = 0; i < snapshot.dsps.size(); ++i) {
    const auto& dsp = snapshot.dsps[i];
    for (const auto& endpoint : dsp.endpoints) {
      EndpointPlan entry;
      entry.key = endpoint.guard_key;
      entry.peer = listen_text(endpoint.host, endpoint.port);
      entry.qps =
          config.expected[i].qps != 0 ? config.expected[i].qps : contracted_qps(dsp, endpoint);
      entry.latency = config.expected[i].latency;
      entry.in_flight_mean = entry.qps * seconds(entry.latency);
      entry.in_flight_worst = entry.qps * seconds(snapshot.timing.tmax_default);
      entry.max_connections = dsp.max_connections;
      entry.per_worker = connections_of_worker(dsp.max_connections, config.workers, 0);
      plan.connections += dsp.max_connections;
      warn_of_endpoint(entry, config.workers, machine, plan.warnings);
      plan.endpoints.push_back(std::move(entry));
    }
  }
  plan.open_files = plan.connections + config.limits.connections + kOwnFiles;
  if (plan.open_files > machine.open_files) {
    plan.warnings.push_back(fmt::format(
        "up to {} files may be open, the limit is {}: raise it (ulimit -n) or lower connections",
        plan.open_files, machine.open_files));
  }
  if (snapshot.dsps.empty()) {
    plan.warnings.push_back("there are no dsps: every auction ends in a house ad or no bid");
  }
  return plan;
}

std::string plan_text(const ConnectionPlan& plan) {
  std::string out = "connections per endpoint (mean and worst case by Little's law):\n";
  for (const auto& entry : plan.endpoints) {
    const auto need = entry.qps == 0
                          ? std::string("expected rate unknown (expect: {qps: ...})")
                          : fmt::format("{} calls/s of {}: {:.1f} in flight, {:.1f} at full tmax",
                                        entry.qps, duration_text(entry.latency),
                                        entry.in_flight_mean, entry.in_flight_worst);
    out += fmt::format("  {:<32} {:<24} at most {} ({} a worker); {}\n", entry.key, entry.peer,
                       entry.max_connections, entry.per_worker, need);
  }
  out += fmt::format("in all: {} connections to DSPs, {} open files at most\n", plan.connections,
                     plan.open_files);
  for (const auto& warning : plan.warnings) {
    out += "warning: " + warning + "\n";
  }
  return out;
}

std::string plan_json(const ConnectionPlan& plan) {
  std::vector<std::string> endpoints;
  endpoints.reserve(plan.endpoints.size());
  for (const auto& entry : plan.endpoints) {
    endpoints.push_back(
        fmt::format(R"({{"key":{},"peer":{},"qps":{},"latency_ms":{:.3f},"in_flight_mean":{:.3f},)"
                    R"("in_flight_worst":{:.3f},"max_connections":{},"per_worker":{}}})",
                    openrtb::json_string(entry.key), openrtb::json_string(entry.peer), entry.qps,
                    base::to_ms(entry.latency), entry.in_flight_mean, entry.in_flight_worst,
                    entry.max_connections, entry.per_worker));
  }
  std::vector<std::string> warnings;
  warnings.reserve(plan.warnings.size());
  for (const auto& warning : plan.warnings) {
    warnings.push_back(openrtb::json_string(warning));
  }
  return fmt::format(R"({{"endpoints":[{}],"connections":{},"open_files":{},"warnings":[{}]}})",
                     fmt::join(endpoints, ","), plan.connections, plan.open_files,
                     fmt::join(warnings, ","));
}

}  // namespace spillway::app
